package main

import (
	"context"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/internal/printable"
)

// staleCheck is how often that is looked at.
const staleCheck = 5 * time.Second

// staleness says when a server has not been heard from, and when it is again.
func staleness(ctx context.Context, s follower, t *messages.Writer) {
	tick := time.NewTicker(staleCheck)
	defer tick.Stop()
	began := time.Now()
	var stale time.Time // last contact before; zero = fresh
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		last := s.contact()
		if last.IsZero() {
			last = began
		}
		silent := time.Since(last)
		switch {
		case silent >= monitor.StaleAfter && stale.IsZero():
			stale = last
			t.Warn(s.Label(), fmt.Sprintf("no contact for %s, data may be stale", printable.Rough(silent)), "no contact", "for", silent.Round(time.Second).String())
		case silent < monitor.StaleAfter && !stale.IsZero():
			t.Info(s.Label(), fmt.Sprintf("in contact again after %s", printable.Rough(last.Sub(stale))), "in contact again", "after", last.Sub(stale).Round(time.Second).String())
			stale = time.Time{}
		}
	}
}
