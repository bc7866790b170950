package import HirobaJSON

// The rows of the long lists.

extension Page: JSONWritable where Item: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member(#","items":"#)
        writer.beginArray()
        for item in items { item.write(to: &writer) }
        writer.endArray()
        writer.member(#","next":"#)
        if let next { writer.string(next) } else { writer.null() }
        writer.endObject()
    }
}

extension Person: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member(#","id":"#)
        writer.string(id.rawValue)
        if let name {
            writer.member(#","name":"#)
            writer.string(name)
        }
        writer.endObject()
    }
}

extension Topic: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member(#","id":"#)
        writer.string(id.rawValue)
        writer.member(#","title":"#)
        writer.string(title)
        writer.member(#","text":"#)
        writer.string(text)
        if let photo {
            writer.member(#","photo":"#)
            writer.string(photo.rawValue)
        }
        writer.member(#","author":"#)
        author.write(to: &writer)
        writer.member(#","createdAt":"#)
        writer.date(createdAt)
        writer.member(#","updatedAt":"#)
        writer.date(updatedAt)
        writer.endObject()
    }
}

extension Comment: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member(#","id":"#)
        writer.string(id.rawValue)
        writer.member(#","topic":"#)
        writer.string(topic.rawValue)
        writer.member(#","text":"#)
        writer.string(text)
        writer.member(#","author":"#)
        author.write(to: &writer)
        writer.member(#","createdAt":"#)
        writer.date(createdAt)
        writer.member(#","updatedAt":"#)
        writer.date(updatedAt)
        writer.endObject()
    }
}
