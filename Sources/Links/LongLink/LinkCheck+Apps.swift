import PushModel

// What concerns the apps that a link names.
extension LinkCheck {
    func android(_ parameters: LinkParameters) -> [LinkWarning] {
        var warnings = androidApp(parameters)
        warnings += fallback(.androidFallback, parameters, .androidFallbackNotURI, .androidFallbackScheme)
        // Dynamic Links had no code for its scheme.
        warnings += fallback(.androidLink, parameters, .androidLinkNotURI, .androidLinkNotURI)
        if let link = parameters[.androidLink], link == parameters[.link] {
            warnings.append(LinkWarning(.androidLinkUnnecessary, "'al' is the same as 'link'"))
        }
        guard let version = parameters[.androidMinimumVersion] else { return warnings }
        if Int64(version) == nil {
            warnings.append(LinkWarning(.androidMinimumVersionNotInteger, "'amv' is no integer"))
        }
        if parameters[.androidPackage] == nil {
            warnings.append(LinkWarning(.androidMinimumVersionUnnecessary, "'amv' has no effect without 'apn'"))
        }
        return warnings
    }

    private func androidApp(_ parameters: LinkParameters) -> [LinkWarning] {
        guard let name = parameters[.androidPackage] else { return [] }
        guard let app = app(.android, .androidPackage, parameters) else {
            return [
                LinkWarning(
                    .androidPackageNotInProject,
                    "The project has no Android app '\(name)': the link opens in the browser")
            ]
        }
        guard app.links.sha256.isEmpty else { return [] }
        return [
            LinkWarning(
                .unspecified, "App Links are off for \(name): the project has no SHA-256 of its signing certificate")
        ]
    }

    func apple(_ parameters: LinkParameters) -> [LinkWarning] {
        var warnings = appleApp(.iosBundle, parameters, .iosBundleNotInProject)
        warnings += appleApp(.ipadBundle, parameters, .ipadBundleNotInProject)
        warnings += fallback(.iosFallback, parameters, .iosFallbackNotURI, .iosFallbackScheme)
        warnings += fallback(.ipadFallback, parameters, .ipadFallbackNotURI, .ipadFallbackScheme)
        let hasApp = parameters[.iosBundle] != nil || parameters[.ipadBundle] != nil
        if parameters[.iosScheme] != nil, !hasApp {
            warnings.append(LinkWarning(.iosSchemeUnnecessary, "'ius' has no effect without 'ibi' or 'ipbi'"))
        }
        if parameters[.appStoreID] != nil, !hasApp {
            warnings.append(LinkWarning(.appStoreIDUnnecessary, "'isi' has no effect without 'ibi' or 'ipbi'"))
        }
        return warnings + appStore(parameters)
    }

    private func appleApp(
        _ parameter: LinkParameter, _ parameters: LinkParameters, _ code: LinkWarning.Code
    ) -> [LinkWarning] {
        guard let name = parameters[parameter] else { return [] }
        guard let app = app(.apple, parameter, parameters) else {
            return [LinkWarning(code, "The project has no Apple app '\(name)': the link opens in the browser")]
        }
        guard app.links.appIDPrefix == nil else { return [] }
        return [
            LinkWarning(.unspecified, "Universal links are off for \(name): the project has no App ID prefix of it")
        ]
    }

    private func appStore(_ parameters: LinkParameters) -> [LinkWarning] {
        guard let text = parameters[.appStoreID] else { return [] }
        guard let number = AppStoreURL.number(text) else {
            return [LinkWarning(.appStoreIDNotNumeric, "'isi' is no number")]
        }
        let app = app(.apple, .iosBundle, parameters) ?? app(.apple, .ipadBundle, parameters)
        guard let own = app?.links.appStoreID, own != number else { return [] }
        return [
            LinkWarning(
                .appStoreIDNotMatching, "'isi' is not the App Store's number of the app: \(own) is, and is used")
        ]
    }

    private func app(_ platform: Platform, _ parameter: LinkParameter, _ parameters: LinkParameters) -> App? {
        parameters[parameter].flatMap(AppID.init).flatMap { project.apps[AppKey(platform, $0)] }
    }
}
