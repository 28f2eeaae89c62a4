import ArgumentParser
import Foundation
import JSON
import Links
import NIOHTTP1

extension LinksCommand {
    /// What lists show a link as.
    enum Visibility: String, CaseIterable, ExpressibleByArgument {
        case unarchived
        case archived
        case neverShown = "never-shown"

        var wire: String { rawValue.uppercased().replacing("-", with: "_") }
    }

    /// A short link as an argument.
    struct Name: ParsableArguments {
        @Argument(help: "The short link, as https://go.example.com/aB3x.") var link: String

        /// The path of the link's resource.
        var path: String { "managedShortLinks/" + GatewayClient.escaped(link) }
    }

    /// `herald links list`.
    struct ListLinks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List short links, the newest first.")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: "Only links of this prefix, as https://go.example.com.") var prefix: String?
        @Option(help: "Which to list; links without a name are never-shown elsewhere.")
        var visibility = Visibility.unarchived
        @Option(help: "The most to list.") var limit = 100
        @Flag(help: "Print JSON, an object a line.") var json = false

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit \(limit): takes 1 or more.") }
        }

        func run() async throws {
            let links = try await links(gateway.client())
            guard !json else { return Terminal.standard.print(links) }
            links.isEmpty ? Terminal.standard.print("No links.") : Terminal.standard.print(Self.table(links))
        }

        /// A line for each link.
        static func table(_ links: [JSONValue]) -> Table {
            var table = Table(titles: ["LINK", "NAME", "CREATED", "STATE", "TARGET"])
            table.rows = links.map { link in
                [
                    link["link"]?.stringValue ?? "", link["linkName"]?.stringValue ?? "-",
                    link["creationTime"]?.stringValue ?? "", LinksCommand.state(of: link),
                    link["info"]?["link"]?.stringValue ?? "",
                ]
            }
            return table
        }

        private func links(_ client: GatewayClient) async throws(Failure) -> [JSONValue] {
            var found: [JSONValue] = []
            var token: String?
            repeat {
                var query = [("visibility", visibility.wire), ("pageSize", String(min(1000, limit - found.count)))]
                if let prefix { query.append(("domainUriPrefix", prefix)) }
                if let token { query.append(("pageToken", token)) }
                let answer = try await client.link(.GET, "managedShortLinks", query: query).json()
                found += answer["managedShortLinks"]?.elements ?? []
                token = answer["nextPageToken"]?.stringValue
            } while token != nil && found.count < limit
            return found
        }
    }

    /// `herald links show`.
    struct ShowLink: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a short link with its parameters.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Flag(help: "Print the gateway's answer as JSON.") var json = false

        func run() async throws {
            let link = try await gateway.client().link(.GET, name.path).json()
            json ? Terminal.standard.print([link]) : LinksCommand.show(link)
        }
    }

    /// `herald links stats`.
    struct LinkStatistics: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stats", abstract: "Say how often a short link was opened.")

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Option(help: "Days back from now, today included.") var days = 7
        @Flag(help: "Print JSON, an object a line.") var json = false

        func validate() throws {
            guard (1...3650).contains(days) else { throw ValidationError("--days \(days): takes 1 to 3650.") }
        }

        func run() async throws {
            let path = "\(GatewayClient.escaped(name.link))/linkStats"
            let answer = try await gateway.client().link(.GET, path, query: [("durationDays", String(days))]).json()
            let stats = answer["linkEventStats"]?.elements ?? []
            guard !json else { return Terminal.standard.print(stats) }
            var table = Table(titles: ["PLATFORM", "EVENT", "COUNT"])
            table.rows = stats.map { row in
                ["platform", "event", "count"].map { row[$0]?.stringValue ?? "" }
            }
            stats.isEmpty ? Terminal.standard.print("Nothing was counted.") : Terminal.standard.print(table)
        }
    }

    /// `herald links qr`.
    struct LinkQR: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "qr", abstract: "Draw the QR code of a short link.",
            discussion: "Everybody can get the same from the link's host, at <link>/qr?size=&ecc=&format=.")

        /// The form of the picture.
        enum Format: String, CaseIterable, ExpressibleByArgument {
            case svg
            case png
        }

        @OptionGroup var gateway: GatewayOptions
        @OptionGroup var name: Name
        @Option(help: "svg or png.") var format = Format.svg
        @Option(help: "Width and height in pixels.") var size = 512
        @Option(help: "How much may be unreadable: L (7 %), M (15 %), Q (25 %), H (30 %).") var ecc = "M"
        @Option(help: "The file to write; without it standard output.") var output: String?

        func validate() throws {
            guard (64...2048).contains(size) else { throw ValidationError("--size \(size): takes 64 to 2048.") }
            guard QRCorrection(letter: ecc) != nil else { throw ValidationError("--ecc \(ecc): takes L, M, Q or H.") }
        }

        func run() async throws {
            // A picture of a link that is not there would be printed many times.
            let link = try await gateway.client().link(.GET, name.path).json()
            let url = link["link"]?.stringValue ?? name.link
            let bytes: [UInt8]
            do {
                let code = try QRCode(url, correction: QRCorrection(letter: ecc) ?? .medium)
                bytes = format == .svg ? Array(code.svg(pixels: size).utf8) : code.png(pixels: size)
            } catch {
                throw Failure(.refused, "\(Table.safe(url)): \(error); take another --ecc, or a shorter suffix")
            }
            do {
                if let output {
                    try Data(bytes).write(to: URL(filePath: output))
                } else {
                    try FileHandle.standardOutput.write(contentsOf: Data(bytes))
                }
            } catch {
                throw Failure(
                    .inputOutput,
                    "\(output.map { "--output \($0)" } ?? "standard output"): can't be written: \(error.localizedDescription)"
                )
            }
        }
    }

    /// How a link is, in a word.
    fileprivate static func state(of link: JSONValue) -> String {
        if link["flaggedAttribute"]?.elements.contains(.string("SPAM")) == true { return "blocked" }
        return (link["visibility"]?.stringValue ?? "").lowercased().replacing("_", with: "-")
    }

    /// Prints a link, a line for each thing that is known of it.
    static func show(_ link: JSONValue) {
        var table = Table(titles: ["FIELD", "VALUE"])
        table.rows = [
            ["link", link["link"]?.stringValue ?? ""], ["name", link["linkName"]?.stringValue ?? "-"],
            ["state", state(of: link)], ["created", link["creationTime"]?.stringValue ?? ""],
        ]
        if let end = link["expirationTime"]?.stringValue { table.rows.append(["expires", end]) }
        table.rows += leaves(of: link["info"] ?? .null, below: "")
        Terminal.standard.print(table)
    }

    private static func leaves(of value: JSONValue, below path: String) -> [[String]] {
        value.members.flatMap { member in
            let path = path.isEmpty ? member.name : "\(path).\(member.name)"
            switch member.value {
            case .object: return leaves(of: member.value, below: path)
            case .string(let text): return [[path, text]]
            case .bool(let flag): return [[path, String(flag)]]
            case .null, .number, .array: return []
            }
        }
    }
}
