#pragma once
#include <libpq-fe.h>

// The names of a message's fields are character constants, which Swift imports under no useful type.
static const int cpostgres_sqlstate = PG_DIAG_SQLSTATE;
static const int cpostgres_message = PG_DIAG_MESSAGE_PRIMARY;
