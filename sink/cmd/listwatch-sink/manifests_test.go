package main

import (
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAlertsNameMetricsThatExist: an alert on a metric that nobody serves never fires.
func TestAlertsNameMetricsThatExist(t *testing.T) {
	b, err := os.ReadFile("../../manifests/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc, 100)
	newBoard(slog.New(slog.DiscardHandler)).registry.Describe(descs)
	close(descs)
	served := map[string]bool{}
	for d := range descs {
		served[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	named := regexp.MustCompile(`listwatch_sink_\w+`).FindAllString(string(b), -1)
	if len(named) == 0 {
		t.Error("the alerts name no metric")
	}
	for _, name := range named {
		if !served[name] {
			t.Errorf("an alert is on %s, which is not served", name)
		}
	}
}

// TestManifestNamesFlagsThatExist parses the arguments of the manifest.
func TestManifestNamesFlagsThatExist(t *testing.T) {
	b, err := os.ReadFile("../../manifests/sink.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "args:\n")
	text, _, _ = strings.Cut(text, "ports:")
	var args []string
	for _, m := range regexp.MustCompile(`(?m)^ +- (\S+)`).FindAllStringSubmatch(text, -1) {
		args = append(args, m[1])
	}
	p := &program{}
	if err := p.flagSet(io.Discard).Parse(args); err != nil || len(args) < 3 || p.replicas.lease == "" || p.toFile == "" {
		t.Errorf("arguments %q: %+v, error %v", args, p, err)
	}
}
