import Webhooks

/// `"3.5s"`: as a google.protobuf.Duration is written, to the millisecond.
func durationText(milliseconds: Int64) -> String { ReportFigures.durationText(milliseconds: milliseconds) }
