extension Schema {
    /// How many registrations joined and left a topic on a day.
    static let topicDays = """
        CREATE TABLE topic_day (
            topic bigint NOT NULL REFERENCES topic (id) ON DELETE CASCADE,
            day bigint NOT NULL,
            joined bigint NOT NULL CHECK (joined >= 0),
            gone bigint NOT NULL CHECK (gone >= 0),
            PRIMARY KEY (topic, day)
        ) WITH (fillfactor = 70);
        CREATE INDEX topic_day_by_day ON topic_day (day);
        """
}
