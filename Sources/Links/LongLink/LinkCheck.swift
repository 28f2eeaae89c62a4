package import PushModel

/// Judges links when they are made: what is refused, and what is warned of.
package struct LinkCheck: Sendable {
    let project: Project
    private let policy: LinkPolicy

    /// A check against a project's apps and targets.
    package init(project: Project, policy: LinkPolicy) {
        self.project = project
        self.policy = policy
    }

    /// Judges a long link that was given as a URL: the warnings of ``LongLink`` too.
    ///
    /// - Throws: What it is refused for; so is a short link.
    package func check(_ link: LongLink) throws(LinkProblem) -> [LinkWarning] {
        guard link.suffix == nil else {
            throw LinkProblem(field: "longDynamicLink", message: "is a short link already")
        }
        let warnings = try check(link.parameters, unknown: link.unknownNames)
        return link.warnings.filter { warning in !warnings.contains { $0.code == warning.code } } + warnings
    }

    /// Judges parameters.
    ///
    /// - Parameter unknown: Names that were given and are no parameters.
    /// - Throws: What they are refused for: no `link`, a target that is none or is not allowed, too much of all.
    package func check(_ parameters: LinkParameters, unknown: [String] = []) throws(LinkProblem) -> [LinkWarning] {
        let query = try query(of: parameters)
        var warnings = unknown.prefix(LinkLimits.unknownNames).map {
            LinkWarning(.unrecognizedParameter, "'\($0)' is no parameter of links and was dropped")
        }
        warnings += general(parameters, query) + android(parameters) + apple(parameters) + social(parameters)
        return warnings
    }

    /// The canonical query of parameters that are not refused. What ``check(_:unknown:)`` warns of is not looked for.
    ///
    /// - Throws: as ``check(_:unknown:)``.
    package func query(of parameters: LinkParameters) throws(LinkProblem) -> String {
        for (parameter, value) in parameters.all where value.utf8.contains(0) {
            throw LinkProblem(parameter, message: "has a NUL character")
        }
        _ = try LinkTargets(parameters, policy: policy)
        let query = parameters.query
        guard query.utf8.count <= LinkLimits.queryBytes else {
            throw LinkProblem(
                field: "dynamicLinkInfo",
                message: "all parameters together have more than \(LinkLimits.queryBytes) bytes")
        }
        return query
    }
}

// What concerns no app.
extension LinkCheck {
    /// The warning's text of a long link that is not opened.
    static let tooLong = "The long link has more than \(LinkLimits.longLinkBytes) bytes: only the short one is opened"

    private func general(_ parameters: LinkParameters, _ query: String) -> [LinkWarning] {
        var warnings: [LinkWarning] = []
        for (parameter, value) in parameters.all where value.utf8.count > LinkLimits.parameterBytes {
            warnings.append(
                LinkWarning(
                    .tooLongParameter, "'\(parameter.rawValue)' has more than \(LinkLimits.parameterBytes) bytes"))
        }
        if query.utf8.count > LinkLimits.longLinkBytes {
            warnings.append(LinkWarning(.linkTooLong, Self.tooLong))
        }
        if parameters[.link]?.utf8.contains(UInt8(ascii: "#")) == true {
            warnings.append(LinkWarning(.linkWithFragments, "'link' has a fragment: some apps and browsers drop it"))
        }
        if parameters[.googleClick] != nil {
            warnings.append(LinkWarning(.deprecatedParameter, "'gclid' has no effect"))
        }
        if let value = parameters[.forcedRedirect], LinkParameters.boolean(value) == nil {
            warnings.append(LinkWarning(.unrecognizedParameter, "'efr' takes 1 or 0 only"))
        }
        // No code of its own: Dynamic Links had none for it.
        warnings += fallback(.otherFallback, parameters, .unrecognizedParameter, .unrecognizedParameter)
        return warnings
    }

    /// What is wrong with the form of a URL that may be missing.
    func fallback(
        _ parameter: LinkParameter, _ parameters: LinkParameters, _ malformed: LinkWarning.Code,
        _ scheme: LinkWarning.Code
    ) -> [LinkWarning] {
        guard let text = parameters[parameter], case .failure(let flaw) = TargetURL.read(text) else { return [] }
        let message = "'\(parameter.rawValue)' \(flaw.message) and has no effect"
        return [LinkWarning(flaw == .scheme ? scheme : malformed, message)]
    }

    private func social(_ parameters: LinkParameters) -> [LinkWarning] {
        let warnings = fallback(.socialImage, parameters, .socialImageNotURI, .socialImageScheme)
        guard warnings.isEmpty, let text = parameters[.socialImage], case .success(let url) = TargetURL.read(text),
            !policy.allows(url)
        else { return warnings }
        return [
            LinkWarning(
                .socialImageNotURI, "'si' is at \(url.host), which the project does not allow, and is not shown")
        ]
    }
}
