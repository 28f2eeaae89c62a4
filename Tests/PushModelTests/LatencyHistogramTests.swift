import PushModel
import Testing

struct LatencyHistogramTests {
    @Test func boundsAreWithinFourPercentAndOrdered() {
        var previous = -1
        var value: Int64 = 0
        while value < Int64.max / 2 {
            let bucket = LatencyHistogram.bucket(forMilliseconds: value)
            let bound = LatencyHistogram.upperBoundMilliseconds(ofBucket: bucket)
            #expect(bound >= value)
            #expect(Double(bound) <= Double(value) * 1.04)
            #expect(bucket >= previous)
            #expect(LatencyHistogram.bucket(forMilliseconds: bound) == bucket)
            #expect(LatencyHistogram.bucket(forMilliseconds: bound + 1) == bucket + 1)
            previous = bucket
            value += max(1, value / 97)
        }
    }

    @Test func extremesHaveABucket() {
        #expect(LatencyHistogram.bucket(forMilliseconds: -5) == 0)
        let last = LatencyHistogram.bucket(forMilliseconds: .max)
        #expect(LatencyHistogram.upperBoundMilliseconds(ofBucket: last) == .max)
        #expect(LatencyHistogram.upperBoundMilliseconds(ofBucket: .max) == .max)
    }

    @Test(arguments: [(0.0, 1), (50.0, 50), (90.0, 90), (99.0, 99), (100.0, 100)] as [(Double, Int64)])
    func percentilesOfOneToHundredAreTheNumbers(p: Double, expected: Int64) throws {
        var histogram = LatencyHistogram()
        for value in 1...100 { histogram.record(milliseconds: Int64(value)) }
        let found = try #require(histogram.percentile(p))
        #expect(found >= expected)
        #expect(Double(found) <= Double(expected) * 1.04)
    }

    @Test func nothingCountedHasNoPercentile() {
        #expect(LatencyHistogram(counts: [3: 0]).percentile(50) == nil)
    }

    @Test func mergingEqualsCountingTogether() {
        var (one, two, both) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for value in 0..<1000 {
            let milliseconds = Int64(value * value)
            if value % 3 == 0 { one.record(milliseconds: milliseconds) } else { two.record(milliseconds: milliseconds) }
            both.record(milliseconds: milliseconds)
        }
        one.merge(two)
        #expect(one == both)
        #expect(one.total == 1000)
    }
}
