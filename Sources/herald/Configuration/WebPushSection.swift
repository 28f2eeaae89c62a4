import PushModel
import Signing
import WebPush

/// How the browsers of one web app are reached, read and checked, keys loaded.
struct BrowserConfiguration: Sendable {
    /// `id`.
    var id: AppID
    /// `webPush.subject`.
    var subject: String
    /// `webPush.key`, then those of `webPush.previousKeys`.
    var keys: [ES256PrivateKey]
    /// The files of these, in the same order.
    var keyFiles: [CredentialFile]
    /// `webPush.services`.
    var services: [PushServiceName]
    /// `webPush.trust`; `nil`: the system's authorities.
    var trustFile: String?

    /// What registrations and composed pushes need to know of it.
    var service: BrowserService { BrowserService(publicKeys: keys.map(\.publicPoint), services: services) }
}

/// Reads the `webPush` block of a web app.
struct WebPushSection {
    static let keys = ["subject", "key", "previousKeys", "services", "trust"]

    let section: ConfigurationSection

    /// Reads the block of the app `id`; `nil` after a problem, or when the id is wrong.
    func read(
        of id: AppID?, problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> BrowserConfiguration? {
        ProjectFile.refuseUnknown("apps.webPush", in: section, problems: &problems)
        let subject = subject(problems: &problems)
        let key = presentKey(problems: &problems, warnings: &warnings)
        let previous = previousKeys(problems: &problems, warnings: &warnings)
        refuseRepetition(of: [key] + previous.map(\.key), previous.map(\.item), problems: &problems)
        let services = services(problems: &problems)
        let trust = trustFile(problems: &problems)
        guard let id, let subject, let key else { return nil }
        let former = previous.compactMap { item, key in
            key.map { ($0, CredentialFile(path: item.text, in: section.files)) }
        }
        let file = CredentialFile(path: section.text("key", problems: &problems) ?? "", in: section.files)
        return BrowserConfiguration(
            id: id, subject: subject, keys: [key] + former.map(\.0), keyFiles: [file] + former.map(\.1),
            services: services, trustFile: trust)
    }

    // MARK: Subject

    /// Services refuse tokens without one, and addresses with a blank, brackets or a host without a dot.
    private func subject(problems: inout [ConfigurationProblem]) -> String? {
        let example = "mailto:push@example.com"
        guard let text = section.requiredText("subject", example: example, problems: &problems) else { return nil }
        guard Self.isSubject(text) else {
            problems.append(
                section.problem(
                    "subject",
                    "\"\(text)\" is neither mailto: with an address nor an https URL; write it like \(example)"))
            return nil
        }
        return text
    }

    static func isSubject(_ text: String) -> Bool {
        let isAddress = text.wholeMatch(of: /mailto:[^\s<>@]+@[^\s<>@.]+(\.[^\s<>@.]+)+/) != nil
        return isAddress || text.wholeMatch(of: /https:\/\/[^\s<>@\/.]+(\.[^\s<>@\/.]+)+(\/[^\s<>]*)?/) != nil
    }

    // MARK: Keys

    private func presentKey(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> ES256PrivateKey? {
        guard let path = section.requiredText("key", example: "keys/vapid.pem", problems: &problems) else { return nil }
        let item = ConfigurationSection.Item(text: path, place: section.place("key"), field: section.field("key"))
        return key(item, problems: &problems, warnings: &warnings)
    }

    private func previousKeys(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> [(item: ConfigurationSection.Item, key: ES256PrivateKey?)] {
        section.items("previousKeys", problems: &problems).map {
            ($0, key($0, problems: &problems, warnings: &warnings))
        }
    }

    private func key(
        _ item: ConfigurationSection.Item, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) -> ES256PrivateKey? {
        let path = item.text
        guard !path.contains("\n"), !path.contains("-----BEGIN") else {
            problems.append(item.problem("give the path of the PEM file, not the key itself"))
            return nil
        }
        do {
            let key = try ES256PrivateKey(pem: section.files.text(of: path, in: path))
            checkMode(of: item, problems: &problems, warnings: &warnings)
            return key
        } catch let error as ConfigurationProblem.Unreadable {
            problems.append(item.problem("\(error.text); herald key vapid --out \(path) makes one"))
        } catch let error as SigningError where error.code == .notP256 {
            problems.append(item.problem("\(path): not a P-256 key; browsers take no other"))
        } catch let error as SigningError where error.code == .notAPrivateKey {
            problems.append(item.problem("\(path): no private key in it; herald key vapid --out FILE makes one"))
        } catch {
            problems.append(item.problem("\(path): can't be read: \(error)"))
        }
        return nil
    }

    private func checkMode(
        of item: ConfigurationSection.Item, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) {
        guard section.files.isOnDisk else { return }
        let (path, file) = (item.text, PrivateFile(path: item.text))
        if file.isReadableByOthers {
            problems.append(
                item.problem("\(path) is readable by every user, so what is in it is no secret; chmod 600 \(path)"))
        } else if file.isReadableByGroup {
            warnings.append(item.problem("\(path) is readable by its group; chmod 600 \(path)"))
        }
    }

    /// A key that stands there twice is a mistake of a rotation: the one that was to be kept is lost.
    private func refuseRepetition(
        of keys: [ES256PrivateKey?], _ previous: [ConfigurationSection.Item], problems: inout [ConfigurationProblem]
    ) {
        var seen: Set<[UInt8]> = Set(keys.prefix(1).compactMap { $0?.publicPoint })
        for (key, item) in zip(keys.dropFirst(), previous) {
            guard let key, !seen.insert(key.publicPoint).inserted else { continue }
            problems.append(item.problem("\(item.text): the same key stands above it"))
        }
    }

    // MARK: Services

    private func services(problems: inout [ConfigurationProblem]) -> [PushServiceName] {
        section.items("services", problems: &problems).compactMap { item in
            if let name = PushServiceName(item.text) { return name }
            problems.append(
                item.problem(
                    "\"\(item.text)\" is no push service; write host or host:port, as push.example.com:8443"))
            return nil
        }
    }

    private func trustFile(problems: inout [ConfigurationProblem]) -> String? {
        guard let path = section.text("trust", problems: &problems), path != "system" else { return nil }
        do {
            let text = try section.files.text(of: path, in: path)
            if !text.contains("-----BEGIN CERTIFICATE-----") {
                problems.append(section.problem("trust", "\(path): no PEM certificate in it"))
            }
            return try section.files.authorities(at: path, text)
        } catch {
            problems.append(section.problem("trust", error.text))
        }
        return path
    }
}
