package lease_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

func TestNewRefusesWhatCannotBeSafe(t *testing.T) {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		key  kube.Key
		o    lease.Options
		want string
	}{
		{"defaults", orders, lease.Options{}, ""},
		{"scaled", orders, lease.Options{Duration: time.Minute}, ""},
		{"as short as it gets", orders, lease.Options{Duration: time.Second}, ""},
		{"no namespace", kube.Key{Name: "a"}, lease.Options{}, "namespace"},
		{"no name", kube.Key{Namespace: "a"}, lease.Options{}, "name"},
		{"negative", orders, lease.Options{Duration: -time.Second}, "duration"},
		{"a fraction of a second", orders, lease.Options{Duration: 1500 * time.Millisecond}, "whole seconds"},
		{"a century", orders, lease.Options{Duration: 100 * 365 * 24 * time.Hour}, "whole seconds"},
		{"no time to stop", orders, lease.Options{RenewDeadline: 15 * time.Second}, "must be less than the duration"},
		{"no time to retry", orders, lease.Options{RetryPeriod: 9 * time.Second}, "1.2 times the retry period"},
		{"no pause", orders, lease.Options{RetryPeriod: -1}, "more than 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := lease.New(c, tt.key, tt.o)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestIdentityIsAnotherEachTime where none is given.
func TestIdentityIsAnotherEachTime(t *testing.T) {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		e, err := lease.New(c, orders, lease.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Identity(), host+"_") {
			t.Errorf("identity %q", e.Identity())
		}
		seen[e.Identity()] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d identities of 3", len(seen))
	}
}
