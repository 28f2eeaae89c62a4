import PushModel

extension PrometheusRegistry {
    /// Sets the gauge of the certificates' ends; certificates that are gone leave the scrape.
    func setCertificates(_ certificates: [WatchedCertificate]) {
        setGauge(
            .certificateExpiry,
            certificates.map { certificate in
                let labels = [("project", certificate.project.rawValue), ("app", certificate.app.rawValue)]
                return (labels: labels, value: Double(certificate.validUntil.seconds))
            })
    }
}

extension PrometheusRegistry {
    /// Sets the gauge whose label says which version runs.
    func setVersion() {
        setGauge(.buildInfo, [(labels: [("version", HeraldVersion.current)], value: 1)])
    }
}
