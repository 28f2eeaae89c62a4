import ArgumentParser
import GatewayAPI
import JSON
import Links
import NIOHTTP1
import PushModel

extension LinksCommand {
    /// `herald links create`.
    struct CreateLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Make a short link.",
            discussion: """
                Takes a long link (https://go.example.com/?link=…), or with --prefix the URL that the link leads to. With \
                --name it is a managed link, each another; without one, the same link is found again.
                """)

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "A long link, or with --prefix the URL that the link leads to.") var url: String
        @Option(help: "The prefix of the link, as https://go.example.com.") var prefix: String?
        @Option(
            name: .customLong("parameter"),
            help: ArgumentHelp(
                "A parameter of the link beside \"link\", such as apn=com.example.app; may be repeated.",
                valueName: "name=value"))
        var parameters: [String] = []
        @Flag(help: "A suffix of a few characters, for links that anybody may open.") var short = false
        @Option(help: "What people call the link.") var name: String?
        @Option(help: "The suffix of a link with a name.") var suffix: String?
        @Option(help: "When a link with a name ends: 90d, 12h, 30m, or a time as 2026-12-31T00:00:00Z.")
        var expires: String?
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func validate() throws {
            if name?.isEmpty == true { throw ValidationError("--name \"\": write what people call the link.") }
            if let suffix {
                guard name != nil else {
                    throw ValidationError("--suffix \(suffix): only a link with a --name has a suffix of your choice.")
                }
                guard !short else {
                    throw ValidationError("--suffix \(suffix): --short draws one; leave one of the two out.")
                }
                if let problem = LinkSuffix.customProblem(suffix) { throw ValidationError("--suffix \(problem).") }
            }
            try validateEnd()
            for pair in parameters { try validate(parameter: pair) }
            guard prefix != nil || url.contains("link=") else {
                throw ValidationError(
                    "\"\(url)\" is no long link, which has ?link=…: name the prefix of the short link with --prefix.")
            }
        }

        private func validateEnd() throws {
            guard let expires else { return }
            guard name != nil else {
                throw ValidationError("--expires \(expires): only a link with a --name has an end.")
            }
            guard let expiry = Expiry(argument: expires) else {
                throw ValidationError(
                    "--expires \"\(expires)\": write 90d, 12h, 30m, or a time as 2026-12-31T00:00:00Z.")
            }
            let now = Timestamp.systemTime()
            guard expiry.time(from: now) > now else {
                throw ValidationError("--expires \(expires): that is not in the future.")
            }
        }

        private func validate(parameter pair: String) throws {
            guard prefix != nil else {
                throw ValidationError(
                    "--parameter \"\(pair)\": needs --prefix; a long link has its parameters in its query.")
            }
            if case (.forcedRedirect, let value)? = Self.parameter(pair) {
                guard LinkParameters.boolean(value) == nil else { return }
                throw ValidationError("--parameter \"\(pair)\": efr takes 1 or 0.")
            }
            guard Self.parameter(pair) == nil else { return }
            let known = LinkParameter.allCases.filter { $0 != .link }.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "--parameter \"\(pair)\": write a name, = and a value, as apn=com.example.app. Names are \(known).")
        }

        func run() async throws {
            let client = try gateway.client()
            let path = name == nil ? "shortLinks" : "managedShortLinks:create"
            let answer = try await client.link(.POST, path, body: try body()).json()
            guard !json else { return Terminal.standard.print([answer]) }
            for warning in answer["warning"]?.elements ?? [] {
                Terminal.standard.error(
                    "warning: \(Table.safe(warning["warningMessage"]?.stringValue ?? "")) "
                        + "(\(Table.safe(warning["warningCode"]?.stringValue ?? "")))")
            }
            let link = answer["shortLink"] ?? answer["managedShortLink"]?["link"]
            Terminal.standard.print(Table.safe(link?.stringValue ?? ""))
        }

        private func body() throws(Failure) -> JSONValue {
            var members = [try link()]
            if let suffix {
                members.append(
                    .init(
                        "suffix",
                        .object([.init("option", .string("CUSTOM")), .init("customSuffix", .string(suffix))])))
            } else if short {
                members.append(.init("suffix", .object([.init("option", .string("SHORT"))])))
            }
            if let name { members.append(.init("name", .string(name))) }
            if let end = expires.flatMap(Expiry.init(argument:))?.time(from: .systemTime()) {
                members.append(.init("expirationTime", .string(end.rfc3339)))
            }
            return .object(members)
        }

        /// The link: a long one as it is given, or its prefix and parameters, so that the gateway names the one at fault.
        private func link() throws(Failure) -> JSONValue.Member {
            guard let prefix else { return .init("longDynamicLink", .string(url)) }
            guard let prefix = LinkPrefix(rawValue: prefix) else {
                throw Failure(
                    .usage, "--prefix \"\(Table.safe(prefix))\" is no prefix of links; write \(LinkPrefix.expectation)")
            }
            var link = LinkParameters()
            link[.link] = url
            for (name, value) in parameters.compactMap(Self.parameter) { link[name] = value }
            return .init("dynamicLinkInfo", DynamicLinkInfo.json(prefix: prefix.url, link))
        }

        private static func parameter(_ pair: String) -> (LinkParameter, String)? {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = LinkParameter(rawValue: String(parts[0])), name != .link else {
                return nil
            }
            return (name, String(parts[1]))
        }
    }
}
