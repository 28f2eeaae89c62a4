import PushModel
import Store

extension PrometheusRegistry {
    /// Sets the gauges of the stored projects.
    func setStoredProjects(_ state: StoredProjectsState) {
        setGauge(.projectsVersion, [(labels: [], value: Double(state.standing.version))])
        setGauge(.projectsRefused, [(labels: [], value: Double(state.refusedVersion ?? 0))])
    }
}
