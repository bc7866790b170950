extension JSON {
    /// The value after an RFC 7396 merge patch: members of the patch are set, a `null` removes, objects are merged in
    /// turn, everything else replaces what was there.
    public func patched(with patch: JSON) -> JSON {
        guard case .object(let changes) = patch else { return patch }
        var result = object ?? JSONObject()
        for change in changes {
            if change.value.isNull {
                result.removeValue(named: change.name)
            } else {
                result[change.name] = (result[change.name] ?? .null).patched(with: change.value)
            }
        }
        return .object(result)
    }

    /// Applies an RFC 7396 merge patch in place.
    public mutating func patch(_ patch: JSON) { self = patched(with: patch) }
}
