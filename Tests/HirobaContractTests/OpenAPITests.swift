import HirobaContract
import HirobaJSON
import Testing

@Suite("The OpenAPI document")
struct OpenAPITests {
    private let document = OpenAPI.document(server: "https://forum.example.org")

    private func visit(_ value: JSON, _ body: (JSON) -> Void) {
        body(value)
        for element in value.array ?? [] { visit(element, body) }
        for member in value.object ?? [:] { visit(member.value, body) }
    }

    private var operations: [(path: String, method: String, operation: JSON)] {
        (document["paths"]?.object ?? [:]).flatMap { path in
            (path.value.object ?? [:]).map { (path.name, $0.name, $0.value) }
        }
    }

    @Test("has one operation for each call, with an id of its own")
    func operationsOfCalls() {
        #expect(document["openapi"] == "3.1.0")
        #expect(operations.count == Calls.all.count)
        let ids = operations.compactMap { $0.operation["operationId"]?.string }
        #expect(Set(ids).count == Calls.all.count)
        #expect(document["servers"]?[0]?["url"] == "https://forum.example.org")
    }

    @Test("has no reference that leads nowhere")
    func references() {
        var found = 0
        visit(document) { value in
            guard let reference = value["$ref"]?.string else { return }
            found += 1
            var target: JSON? = document
            #expect(reference.hasPrefix("#/"))
            for step in reference.dropFirst(2).split(separator: "/") { target = target?[String(step)] }
            #expect(target != nil, "\(reference)")
        }
        #expect(found > 20)
    }

    @Test("declares every name in a path, required, and no other as one")
    func pathParameters() {
        for (path, method, operation) in operations {
            let inPath = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            let declared = (operation["parameters"]?.array ?? []).filter { $0["in"] == "path" }
            #expect(declared.compactMap { $0["name"]?.string } == inPath, "\(method) \(path)")
            #expect(declared.allSatisfy { $0["required"] == true && $0["schema"]?.object != nil })
        }
    }

    @Test("states the limits of a name in a path as it does those of a field")
    func limitsInPaths() {
        let put = operations.first { $0.path.hasSuffix("/devices/{device}") && $0.method == "put" }
        let schema = put?.operation["parameters"]?.array?.first?["schema"]
        #expect(schema?["minLength"] == 8)
        #expect(schema?["maxLength"] == 64)
    }

    @Test("gives every operation what the specification asks for")
    func shape() {
        for (path, method, operation) in operations {
            #expect(operation["summary"]?.string?.isEmpty == false)
            let responses = operation["responses"]?.object ?? [:]
            #expect(responses.contains("default"), "\(method) \(path)")
            for response in responses {
                #expect(response.name == "default" || Int(response.name).map { (200..<600).contains($0) } == true)
                #expect(response.value["description"]?.string != nil || response.value["$ref"] != nil)
            }
            #expect(operation["security"]?.array != nil)
            if method == "get" || method == "delete" { #expect(operation["requestBody"] == nil) }
            for parameter in operation["parameters"]?.array ?? [] {
                #expect(["path", "query", "header"].contains(parameter["in"]?.string))
                #expect(parameter["schema"]?.object != nil)
            }
        }
        #expect(document["components"]?["securitySchemes"]?["bearer"]?["scheme"] == "bearer")
    }

    @Test("describes bodies by the rule and by the types")
    func bodies() {
        let create = document["paths"]?["/v1/topics"]?["post"]
        let schema = create?["requestBody"]?["content"]?["application/json"]?["schema"]
        #expect(schema?["required"] == ["title"])
        #expect(schema?["properties"]?["title"] == ["type": "string", "minLength": 1, "maxLength": 200])
        #expect(schema?["properties"]?.object?.names == ["title", "text", "photo"])
        #expect(schema?["additionalProperties"] == false)
        #expect(
            create?["responses"]?["201"]?["content"]?["application/json"]?["schema"]
                == ["$ref": "#/components/schemas/Topic"])
        let topic = document["components"]?["schemas"]?["Topic"]
        #expect(topic?["required"] == ["id", "title", "text", "author", "createdAt", "updatedAt"])
        #expect(topic?["properties"]?["author"] == ["$ref": "#/components/schemas/Person"])
        #expect(topic?["properties"]?["createdAt"] == ["type": "string", "format": "date-time"])

        let comment = document["paths"]?["/v1/topics/{topic}/comments"]?["post"]
        let body = comment?["requestBody"]?["content"]?["application/json"]?["schema"]
        #expect(body?["properties"]?.object?.names == ["text"])

        let list = document["paths"]?["/v1/topics"]?["get"]
        let limit = list?["parameters"]?.array?.first { $0["name"] == "limit" }
        #expect(limit?["in"] == "query")
        #expect(limit?["required"] == false)
        #expect(limit?["schema"]?["maximum"] == 1_000)
        #expect(list?["security"] == [[:], ["bearer": []]])
        let page = document["components"]?["schemas"]?["TopicPage"]
        #expect(page?["properties"]?["items"] == ["type": "array", "items": ["$ref": "#/components/schemas/Topic"]])
        #expect(page?["properties"]?["next"] == ["type": ["string", "null"]])
        #expect(page?["required"] == ["items", "next"])
        #expect(document["paths"]?["/v1/topics/{topic}"]?["delete"]?["responses"]?["204"]?["content"] == nil)
    }

    @Test("names only fields that exist in the limits of calls")
    func limits() throws {
        for call in Calls.all where !call.limits.isEmpty {
            let operation = operations.first {
                $0.operation["operationId"]?.string?.lowercased() == call.name.lowercased()
            }
            let text = try #require(operation).operation.description
            for field in call.limits.keys { #expect(text.contains("\"\(field)\""), "\(call.name).\(field)") }
        }
    }
}
