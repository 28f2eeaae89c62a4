/// Sizes of disks for people.
enum DiskText {
    /// A size in MiB or GiB, rounded down: `1.4 GiB`.
    static func size(_ bytes: Int) -> String {
        let mebibytes = bytes >> 20
        guard mebibytes >= 1024 else { return "\(mebibytes) MiB" }
        return "\(mebibytes >> 10).\((mebibytes & 1023) * 10 >> 10) GiB"
    }
}
