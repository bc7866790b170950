public import HirobaJSON

/// The contract as an OpenAPI 3.1 document, generated from the calls themselves.
public enum OpenAPI {
    /// The document.
    ///
    /// - Parameter server: the address under which the server is reached, without the prefix of the paths.
    public static func document(server: String) -> JSON {
        var recorder = SchemaRecorder()
        var paths: JSON = .emptyObject
        let problem = schema(of: Problem.self, &recorder)
        for call in Calls.all {
            var path = paths[call.route.fullTemplate] ?? .emptyObject
            path[call.route.method.rawValue.lowercased()] = operation(call, &recorder)
            paths[call.route.fullTemplate] = path
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Hiroba", "version": "1",
                "description": "Lists are newest first; `next` is what to pass as `after`. Dates are RFC 3339 in UTC.",
            ],
            "servers": [["url": .string(server)]],
            "paths": paths,
            "components": [
                "schemas": .object(recorder.components),
                "responses": [
                    "Problem": [
                        "description": "A failure, told by its `code`",
                        "content": [Problem.mediaType: ["schema": problem]],
                    ]
                ],
                "securitySchemes": [
                    "bearer": [
                        "type": "http", "scheme": "bearer", "description": "The token that a sign-in answered",
                    ],
                    "serverKey": [
                        "type": "http", "scheme": "bearer", "description": "A key that the server made",
                    ],
                ],
            ],
        ]
    }

    // The traps from here on are mistakes in a call of ours. No input leads to them, and the tests describe every call.

    private static func operation(_ call: any CallDescription.Type, _ recorder: inout SchemaRecorder) -> JSON {
        let route = call.route
        let fields = fields(of: call, &recorder)
        let inPath = Set(route.pathFields)
        let outside = fields.properties.filter { !inPath.contains($0.name) }
        var parameters: [JSON] = []
        for name in route.pathFields {
            guard let schema = fields.properties[name] else {
                preconditionFailure("\(call) has no field for {\(name)} in \(route.template)")
            }
            parameters.append(["name": .string(name), "in": "path", "required": true, "schema": schema])
        }
        let usesQuery = route.usesQuery || call is any UploadCall.Type
        if usesQuery {
            for field in outside {
                parameters.append([
                    "name": .string(field.name), "in": "query",
                    "required": .bool(fields.required.contains(field.name)), "schema": field.value,
                ])
            }
        }
        if route.method == .post { parameters.append(header(HeaderName.idempotencyKey, "Makes a second try harmless")) }
        if call is any StreamCall.Type {
            parameters.append(header(HeaderName.lastEventID, "The position to go on after"))
        }

        var operation: JSON = [
            "operationId": .string(call.name.prefix(1).lowercased() + call.name.dropFirst()),
            "summary": .string(call.summary),
            "tags": [.string(route.template.split(separator: "/").first.map { String($0) } ?? "")],
        ]
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if call is any UploadCall.Type {
            operation["requestBody"] = ["required": true, "content": ["*/*": [:]]]
        } else if !usesQuery, !outside.isEmpty {
            let required = fields.required.filter { !inPath.contains($0) }
            var schema: JSON = [
                "type": "object", "properties": .object(JSONObject(outside.map { ($0.name, $0.value) })),
            ]
            if !required.isEmpty { schema["required"] = .array(required.map(JSON.string)) }
            schema["additionalProperties"] = false
            operation["requestBody"] = [
                "required": .bool(!required.isEmpty), "content": ["application/json": ["schema": schema]],
            ]
        }
        operation["responses"] = responses(of: call, &recorder)
        operation["security"] =
            switch call.credential {
            case .none: []
            case .optional: [[:], ["bearer": []]]
            case .required: [["bearer": []]]
            case .serverKey: [["serverKey": []]]
            }
        return operation
    }

    private static func responses(of call: any CallDescription.Type, _ recorder: inout SchemaRecorder) -> JSON {
        var responses: JSON = .emptyObject
        let content = content(of: call, &recorder)
        for status in call.successStatuses {
            var response: JSON = ["description": "Success"]
            if let content, status != 204 { response["content"] = content }
            responses[String(status)] = response
        }
        var codes: [ErrorCode] = [.invalidRequest]
        switch call.credential {
        case .none, .optional: break
        case .required: codes.append(.unauthorized)
        case .serverKey: codes += [.unauthorized, .forbidden]
        }
        codes += call.errors
        for status in Set(codes.map(\.status)).sorted() {
            responses[String(status)] = ["$ref": "#/components/responses/Problem"]
        }
        responses["default"] = ["$ref": "#/components/responses/Problem"]
        return responses
    }

    private static func content(of call: any CallDescription.Type, _ recorder: inout SchemaRecorder) -> JSON? {
        func json(_ answer: any Decodable.Type) -> JSON? {
            answer is NoContent.Type ? nil : ["application/json": ["schema": schema(of: answer, &recorder)]]
        }
        func answer<C: Call>(_ call: C.Type) -> any Decodable.Type { call.Answer.self }
        func answer<C: UploadCall>(_ call: C.Type) -> any Decodable.Type { call.Answer.self }
        return switch call {
        case let call as any Call.Type: json(answer(call))
        case let call as any UploadCall.Type: json(answer(call))
        case is any StreamCall.Type: ["text/event-stream": ["schema": ["type": "string"]]]
        default: ["*/*": [:]]
        }
    }

    private static func header(_ name: String, _ description: String) -> JSON {
        [
            "name": .string(name), "in": "header", "required": false, "description": .string(description),
            "schema": ["type": "string"],
        ]
    }

    private static func fields(
        of call: any CallDescription.Type, _ recorder: inout SchemaRecorder
    ) -> (properties: JSONObject, required: [String]) {
        var fields: (properties: JSONObject, required: [String])
        do {
            fields = try recorder.fields(of: call)
        } catch {
            preconditionFailure("The fields of \(call) cannot be recorded: \(error)")
        }
        for (name, limit) in call.limits {
            switch limit {
            case .characters(let range):
                if range.lowerBound > 0 { fields.properties[name]?["minLength"] = .integer(Int64(range.lowerBound)) }
                fields.properties[name]?["maxLength"] = .integer(Int64(range.upperBound))
            case .value(let range):
                fields.properties[name]?["minimum"] = .integer(Int64(range.lowerBound))
                fields.properties[name]?["maximum"] = .integer(Int64(range.upperBound))
            }
        }
        return fields
    }

    private static func schema(of type: any Decodable.Type, _ recorder: inout SchemaRecorder) -> JSON {
        do {
            return try recorder.schema(of: type)
        } catch {
            preconditionFailure("The schema of \(type) cannot be recorded: \(error)")
        }
    }
}
