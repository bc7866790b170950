#pragma once
#include <sqlite3.h>

// sqlite3_config, sqlite3_db_config and SQLITE_TRANSIENT are out of Swift's reach: two are variadic, the last is a cast in a macro.

/// Switches off what only an attacker or a typing error would use: writing to the schema tables, and "text" in double
/// quotes standing for a string when no column has that name.
static inline int csqlite_be_strict(sqlite3 *database) {
  int status = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (status == SQLITE_OK) status = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  if (status == SQLITE_OK) status = sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
  return status;
}

/// Switches the statistics of memory off. Without effect once SQLite is in use.
static inline void csqlite_count_no_memory(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  return length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                     : sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}
