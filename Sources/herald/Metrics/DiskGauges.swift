import Delivery
import PushModel

extension PrometheusRegistry {
    /// Sets the gauges of the store's disk; what is not known leaves the scrape.
    func setDisk(_ disk: DiskSpace.State) {
        func gauge(_ name: MetricName, _ value: Double?) {
            setGauge(name, value.map { [(labels: [], value: $0)] } ?? [])
        }
        gauge(.diskFree, disk.freeBytes.map(Double.init))
        gauge(.diskFreeLimit, Double(disk.limitBytes))
        gauge(.diskDaysLeft, disk.daysLeft)
    }
}
