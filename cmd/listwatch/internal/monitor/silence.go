package monitor

import (
	"context"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/printable"
)

// silenceCheck is the interval of checks in [Silence].
const silenceCheck = 5 * time.Second

// Silence reports, until ctx is done, when there was no contact with the server of label
// for [StaleAfter], and when there is again. contact returns the time of the last one.
func Silence(ctx context.Context, label string, contact func() time.Time, t *messages.Writer) {
	tick := time.NewTicker(silenceCheck)
	defer tick.Stop()
	began := time.Now()
	var stale time.Time // last contact before; zero = fresh
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		last := contact()
		if last.IsZero() {
			last = began
		}
		silent := time.Since(last)
		switch {
		case silent >= StaleAfter && stale.IsZero():
			stale = last
			t.Warn(label, fmt.Sprintf("no contact for %s, data may be stale", printable.Rough(silent)), "no contact", "for", silent.Round(time.Second).String())
		case silent < StaleAfter && !stale.IsZero():
			t.Info(label, fmt.Sprintf("in contact again after %s", printable.Rough(last.Sub(stale))), "in contact again", "after", last.Sub(stale).Round(time.Second).String())
			stale = time.Time{}
		}
	}
}
