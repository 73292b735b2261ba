package server

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"fencepost/internal/postgres/schema"
)

// outageInterval is the time between two lines of the log that say the same of an outage, however many requests meet it.
const outageInterval = time.Minute

// outages tells the log why requests are answered with 503.
type outages struct {
	log              *slog.Logger
	database, schema rate.Sometimes
}

func newOutages(log *slog.Logger) *outages {
	return &outages{
		log: log, database: rate.Sometimes{Interval: outageInterval}, schema: rate.Sometimes{Interval: outageInterval},
	}
}

// unavailable is told of each call that found the database unavailable; the SQLSTATE is "" when no server answered.
func (o *outages) unavailable(sqlState string) {
	o.database.Do(func() { o.log.Warn("the database cannot be used", slog.String("sql_state", cmp.Or(sqlState, "none"))) })
}

// unready is told of what a look at readiness found, if that is another schema.
func (o *outages) unready(err error) {
	if other, ok := errors.AsType[*schema.Error](err); ok {
		o.schema.Do(func() {
			o.log.Warn("the schema is not that of this program", slog.Int64("version", other.Have), slog.Int64("needed", other.Want))
		})
	}
}
