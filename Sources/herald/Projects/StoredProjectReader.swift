import PushModel
import Signing
import Store

/// Reads stored projects as project files are read.
struct StoredProjectReader: Sendable {
    /// Opens what is secret.
    let seal: ProjectSeal
    /// The variable that the key came from, for messages.
    var keyVariable = SecretsKeys.variable
    /// Takes the certificates of authorities that they name.
    let authorities: AuthorityFiles
    /// For apps whose file names no proxy.
    let environmentProxy: EnvironmentProxy?
    /// The gateway's, for fields that a file does not name.
    let retention: RetentionPolicy

    /// What to do without the key of a version.
    private static let keyRemedy =
        "set that one, or as \(SecretsKeys.formerVariable) when all nodes have both; when it is lost, store all projects "
        + "anew with herald project apply --all --new-key"

    /// Refuses a version that no key opens.
    ///
    /// - Parameter remedy: what to do; `nil`: what is told of the newest version.
    func checkKey(of version: ProjectVersion, remedy: String? = nil) throws(ConfigurationError) {
        guard !seal.fits(version.keyCheck) else { return }
        let text =
            "is another key than the one that sealed the secrets of the stored projects (version \(version.number)); "
            + (remedy ?? Self.keyRemedy)
        throw ConfigurationError(problems: [SecretsKeys.problem(keyVariable, text)])
    }

    /// Reads all projects of a version, checked against each other.
    func read(_ stored: StoredProjects) throws(ConfigurationError) -> ProjectSet {
        try ProjectSet.read(try files(of: stored).map(\.file), environmentProxy: environmentProxy)
    }

    /// The projects of a version as files, with what each of them names.
    ///
    /// - Throws: ``ConfigurationError``: the key is another one, or the database was changed by others.
    func files(of stored: StoredProjects) throws(ConfigurationError) -> [(file: ProjectFile, named: [String: [UInt8]])]
    {
        let number = stored.version.number
        try checkKey(of: stored.version)
        var files: [(file: ProjectFile, named: [String: [UInt8]])] = []
        for project in stored.projects {
            let name = "\(project.file) (version \(number))"
            do throws(SigningError) {
                let named = try seal.files(of: project)
                let source = FileSource(stored: named, authorities: authorities)
                files.append(
                    (ProjectFile(path: name, text: project.text, files: source, retention: retention), named))
            } catch {
                let text =
                    "project \(project.id) is not as it was stored: its text or what is sealed with it was changed in the "
                    + "database; store it anew with herald project apply"
                let place = ConfigurationPlace(source: name, line: nil)
                throw ConfigurationError(problems: [ConfigurationProblem(place, text)])
            }
        }
        return files
    }
}
