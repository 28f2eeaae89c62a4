extension Schema {
    /// A row of `event` is what one step did in a project; `body` is packed (``EventBody``) and names the ledger blocks
    /// instead of repeating them. It stands for the events from `first` to `number`: there is no hole between rows, and
    /// numbers ascend in the order of commit, since writes go one at a time. AUTOINCREMENT remembers the newest number
    /// when all rows are gone.
    ///
    /// `meta.accepted_events` is the newest message that has its event.
    static let events = """
        CREATE TABLE event (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            first INTEGER NOT NULL CHECK (first BETWEEN 1 AND number),
            project TEXT NOT NULL,
            time INTEGER NOT NULL,
            body BLOB NOT NULL CHECK (length(body) > 0)
        ) STRICT;
        INSERT INTO meta (name, value) VALUES ('accepted_events', 0);
        """
}
