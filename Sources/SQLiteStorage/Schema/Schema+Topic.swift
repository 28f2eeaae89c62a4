extension Schema {
    /// `subscribers` is kept by the code that inserts subscriptions, once for a whole batch, and by a trigger when they
    /// go: so accepting a broadcast reads its audience from one row however many subscribe. `empty_since` is when
    /// housekeeping first found the topic without subscribers; a subscriber takes it away.
    static let topics = """
        CREATE TABLE topic (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL,
            subscribers INTEGER NOT NULL DEFAULT 0 CHECK (subscribers >= 0),
            empty_since INTEGER,
            UNIQUE (project, name)
        ) STRICT;
        CREATE INDEX topic_empty ON topic (empty_since) WHERE subscribers = 0;
        CREATE TRIGGER topic_filled AFTER UPDATE OF subscribers ON topic
        WHEN new.subscribers > 0 AND new.empty_since IS NOT NULL BEGIN
            UPDATE topic SET empty_since = NULL WHERE id = new.id;
        END;
        CREATE TRIGGER topic_made AFTER INSERT ON topic BEGIN
            INSERT INTO project (name, topics) VALUES (new.project, 1)
                ON CONFLICT (name) DO UPDATE SET topics = topics + 1;
        END;
        CREATE TRIGGER topic_purged AFTER DELETE ON topic BEGIN
            UPDATE project SET topics = topics - 1 WHERE name = old.project;
        END;
        """

    /// A subscription is four integers in one clustered tree: a page of a topic is one range scan. Its `number` comes
    /// from `meta.subscriptions` and says who subscribed before a message was accepted, whatever the clock does.
    ///
    /// `superseded_subscription` holds the topics of a registration that was superseded until its installation takes it
    /// back or it is purged.
    static let subscriptions = """
        CREATE TABLE subscription (
            topic INTEGER NOT NULL REFERENCES topic (id),
            registration INTEGER NOT NULL REFERENCES registration (key),
            number INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (topic, registration)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX subscription_by_registration ON subscription (registration);
        CREATE TRIGGER subscription_ended AFTER DELETE ON subscription BEGIN
            UPDATE topic SET subscribers = subscribers - 1 WHERE id = old.topic;
        END;

        CREATE TABLE superseded_subscription (
            registration INTEGER NOT NULL REFERENCES registration (key) ON DELETE CASCADE,
            topic INTEGER NOT NULL REFERENCES topic (id),
            created_at INTEGER NOT NULL,
            PRIMARY KEY (registration, topic)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX superseded_subscription_by_topic ON superseded_subscription (topic);
        """
}
