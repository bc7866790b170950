package import HirobaJSON

// The rows of the long lists.

extension Page: JSONWritable where Item: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("items")
        writer.beginArray()
        for item in items { item.write(to: &writer) }
        writer.endArray()
        writer.name("next")
        if let next { writer.string(next) } else { writer.null() }
        writer.endObject()
    }
}

extension Person: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("id")
        writer.string(id.rawValue)
        if let name {
            writer.name("name")
            writer.string(name)
        }
        writer.endObject()
    }
}

extension Topic: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("id")
        writer.string(id.rawValue)
        writer.name("title")
        writer.string(title)
        writer.name("text")
        writer.string(text)
        if let photo {
            writer.name("photo")
            writer.string(photo.rawValue)
        }
        writer.name("author")
        author.write(to: &writer)
        writer.name("createdAt")
        writer.date(createdAt)
        writer.name("updatedAt")
        writer.date(updatedAt)
        writer.endObject()
    }
}

extension Comment: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("id")
        writer.string(id.rawValue)
        writer.name("topic")
        writer.string(topic.rawValue)
        writer.name("text")
        writer.string(text)
        writer.name("author")
        author.write(to: &writer)
        writer.name("createdAt")
        writer.date(createdAt)
        writer.name("updatedAt")
        writer.date(updatedAt)
        writer.endObject()
    }
}
