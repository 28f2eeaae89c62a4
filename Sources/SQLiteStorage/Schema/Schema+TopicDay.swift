extension Schema {
    /// How many registrations joined (`joined`) and left (`gone`) a topic, by the day in UTC when the store was told: kept by
    /// the code that inserts subscriptions, once for a whole batch, and by the code that ends them.
    static let topicDays = """
        CREATE TABLE topic_day (
            topic INTEGER NOT NULL REFERENCES topic (id) ON DELETE CASCADE,
            day INTEGER NOT NULL,
            joined INTEGER NOT NULL CHECK (joined >= 0),
            gone INTEGER NOT NULL CHECK (gone >= 0),
            PRIMARY KEY (topic, day)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX topic_day_by_day ON topic_day (day);
        """
}
