package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/printable"
)

// silenceCheck is the interval of checks in [Silence].
const silenceCheck = 5 * time.Second

// Silence reports, until ctx is done, when the watch of label had no contact with its
// server for [StaleAfter], and when it has again. contact returns the time of the last one.
func Silence(ctx context.Context, cluster, label string, contact func() time.Time, f *messages.Folder) {
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
			f.Say(messages.Shared{Level: slog.LevelWarn, Cluster: cluster, Subject: label, Kind: "no contact, data may be stale",
				Text: fmt.Sprintf("no contact for %s, data may be stale", printable.Rough(silent))}, "no contact", "for", silent.Round(time.Second).String())
		case silent < StaleAfter && !stale.IsZero():
			f.Say(messages.Shared{Cluster: cluster, Subject: label, Kind: "in contact again",
				Text: fmt.Sprintf("in contact again after %s", printable.Rough(last.Sub(stale)))}, "in contact again", "after", last.Sub(stale).Round(time.Second).String())
			stale = time.Time{}
		}
	}
}
