package kinds

import (
	"errors"
	"testing"
	"time"
)

func TestZoneExists(t *testing.T) {
	known := func(zone string) (*time.Location, error) {
		if zone == "Europe/London" || zone == "" || zone == "Local" {
			return time.UTC, nil
		}
		return nil, errors.New("unknown time zone")
	}
	none := func(string) (*time.Location, error) { return nil, errors.New("no database") }
	for _, test := range []struct {
		zone string
		load func(string) (*time.Location, error)
		want bool
	}{
		{"Europe/London", known, true}, {"Mars/Base", known, false}, {"", known, false}, {"Local", known, false},
		{"Europe/London", none, true}, {"", none, false}, {"Local", none, false},
	} {
		if got := zoneExists(test.zone, test.load); got != test.want {
			t.Errorf("%q: %v", test.zone, got)
		}
	}
}
