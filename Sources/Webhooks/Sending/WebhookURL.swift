import Foundation
package import IPAddresses

/// Why a URL is not asked: the rule that it breaks, as `port`, and the same in words.
package struct WebhookURLProblem: Error, Hashable, Sendable {
    /// The rule, a word of few.
    package let rule: Rule
    /// In words, for its owner.
    package let message: String

    /// The rules, in the order in which they are looked at.
    package enum Rule: String, Hashable, Sendable, CaseIterable {
        /// Its length, its characters, and that it can be read in one way only.
        case form
        /// https, or http where it is allowed.
        case scheme
        /// No name and password in it.
        case userInfo
        /// A name with a form that names have.
        case host
        /// A name and no address, unless the address is allowed.
        case addressLiteral
        /// 443, or 1024 and more.
        case port
        /// An address that it leads to.
        case address
        /// The gateway's own listener.
        case ownListener
    }

    init(_ rule: Rule, _ message: String) {
        self.rule = rule
        self.message = message
    }
}

/// A URL that requests may go to, as far as its text says. Where its name leads is looked at before each request.
package struct WebhookURL: Hashable, Sendable {
    /// The longest text.
    package static let longest = 2083

    /// As it was given.
    package let text: String
    /// The name in lower case, or an address without brackets.
    package let host: String
    /// The address, when the host is one.
    package let literal: IPAddress?
    /// The port.
    package let port: Int
    /// Whether TLS is spoken.
    package let isSecure: Bool
    /// The same with scheme and host in lower case: the client pins connections by the host as it stands in the text.
    let normalText: String

    /// Reads a URL by the rules of an installation.
    package init(_ text: String, _ policy: WebhookPolicy) throws(WebhookURLProblem) {
        guard text.utf8.count <= Self.longest else {
            throw WebhookURLProblem(.form, "The URL has \(text.utf8.count) bytes; it may have \(Self.longest).")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !Self.refused.contains($0) }) else {
            throw WebhookURLProblem(.form, "The URL has blanks, backslashes or characters that are not of ASCII.")
        }
        guard
            let (_, scheme, authority, rest) = text.wholeMatch(of: /([A-Za-z]+):\/\/([^\/?#]*)((?:[\/?][^#]*)?)/)?
                .output
        else {
            throw WebhookURLProblem(.form, "The URL is not https://HOST/PATH without a fragment.")
        }
        isSecure = scheme.lowercased() == "https"
        guard isSecure || scheme.lowercased() == "http" else {
            throw WebhookURLProblem(.scheme, "The URL is neither https nor http.")
        }
        guard !authority.contains("@") else {
            throw WebhookURLProblem(.userInfo, "The URL has a name or password in front of its host.")
        }
        let (name, port) = try Self.hostAndPort(authority)
        if let port, !(1...65_535).contains(port) {
            throw WebhookURLProblem(.port, "The URL's port \(port) is none.")
        }
        host = name
        self.port = port ?? (isSecure ? 443 : 80)
        normalText = "\(scheme.lowercased())://\(authority.lowercased())\(rest)"
        literal = IPAddress(name)
        self.text = text
        // The client reads it with this parser: both have to agree.
        let parsed = URL(string: text)
        let parsedHost = parsed?.host()?.lowercased().trimmingBrackets
        guard let parsed, parsedHost == name || parsedHost.flatMap({ IPAddress($0) }) == literal && literal != nil,
            parsed.port ?? self.port == self.port, parsed.user() == nil
        else { throw WebhookURLProblem(.form, "The URL can be read in more than one way.") }
        try check(policy)
    }

    /// Quotes and what other parsers take for a slash, or encode.
    private static let refused = Set("\\\"<>^`{|}".utf8)

    private static func hostAndPort(_ text: Substring) throws(WebhookURLProblem) -> (host: String, port: Int?) {
        let lowered = text.lowercased()
        guard let match = lowered.wholeMatch(of: /(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?/)?.output else {
            throw WebhookURLProblem(.host, "The URL's host is not a name, or its port is not a number.")
        }
        return (String(match.1).trimmingBrackets, match.2.flatMap { Int($0) })
    }

    private func check(_ policy: WebhookPolicy) throws(WebhookURLProblem) {
        if literal == nil { try checkName() }
        if let literal, !policy.allows(named: literal) {
            throw WebhookURLProblem(.addressLiteral, "The URL names the address \(literal); give the name of a host.")
        }
        guard isSecure || policy.allowedHTTP.contains(host) else {
            throw WebhookURLProblem(
                .scheme, "The URL is not https; webhooks.allowHTTP of the gateway does not name \(host).")
        }
        let isUsual = port == 443 || (1024...65_535).contains(port) || !isSecure && port == 80
        guard isUsual else {
            throw WebhookURLProblem(.port, "The URL's port \(port) is neither 443 nor 1024 or more.")
        }
    }

    private func checkName() throws(WebhookURLProblem) {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName =
            host.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { byte in
                        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                    }
            }
        guard isName, let last = labels.last else {
            throw WebhookURLProblem(.host, "The URL's host is neither a name nor an address.")
        }
        // What ends in a number is an address for many parsers, in whatever base (WHATWG URL, "ends in a number").
        let isNumber =
            last.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            || last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
        guard !isNumber else {
            throw WebhookURLProblem(.addressLiteral, "The URL's host is an address in an unusual form.")
        }
    }
}

extension StringProtocol {
    /// Without the brackets around an IPv6 address.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
