import GRDB
import Store

// Version 14: how many topics a project has, and since when one is empty.

extension Schema {
    static func migrateTopics(_ db: Database) throws {
        try db.execute(sql: emptyTopics)
        try db.execute(sql: topicCounts)
    }

    /// `empty_since` is when housekeeping first found the topic without subscribers; a subscriber takes it away. A topic
    /// goes only when no message is of it, hence the index over these.
    private static let emptyTopics = """
        ALTER TABLE topic ADD COLUMN empty_since INTEGER;
        CREATE INDEX topic_empty ON topic (empty_since) WHERE subscribers = 0;
        CREATE INDEX message_by_topic ON message (topic) WHERE topic IS NOT NULL;
        CREATE TRIGGER topic_filled AFTER UPDATE OF subscribers ON topic
        WHEN new.subscribers > 0 AND new.empty_since IS NOT NULL BEGIN
            UPDATE topic SET empty_since = NULL WHERE id = new.id;
        END;
        """

    /// Asked whenever a client wants a topic that is not there, hence a counter.
    private static let topicCounts = """
        ALTER TABLE project ADD COLUMN topics INTEGER NOT NULL DEFAULT 0 CHECK (topics >= 0);
        INSERT INTO project (name, topics) SELECT project, count(*) FROM topic WHERE true GROUP BY project
            ON CONFLICT (name) DO UPDATE SET topics = excluded.topics;
        CREATE TRIGGER topic_made AFTER INSERT ON topic BEGIN
            INSERT INTO project (name, topics) VALUES (new.project, 1)
                ON CONFLICT (name) DO UPDATE SET topics = topics + 1;
        END;
        CREATE TRIGGER topic_purged AFTER DELETE ON topic BEGIN
            UPDATE project SET topics = topics - 1 WHERE name = old.project;
        END;
        """
}
