package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink/kafka"
)

func TestProgramMovesIntoKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "u", "hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.put(kube.ConfigMaps, "settings", `,"data":{"a":"1"}`)
	file := filepath.Join(t.TempDir(), "url")
	name := func(url string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(url), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := cluster.ListenAddrs()[0] + "/shop?partitions=3&sasl=scram-sha-256"
	name("kafka://u:hunter2@" + at)
	s.args = append(s.args[:2:2], "--to-file", file)
	errs, stop := s.start("pods,cm")
	errs.wait(t, "phase=LIVE", 2)
	if code, out, errs := s.run("verify"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ := s.run("status")
	if !regexp.MustCompile(`(?m)^\S+ +configmaps +0/1 +LIVE .*\n\S+ +pods +0/1 +LIVE `).MatchString(out) || code != exitOK {
		t.Errorf("status: exit code %d\n%s", code, out)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after a signal\n%s", code, errs)
	}
	name("kafka://u:hunter2@" + strings.Replace(at, "/shop", "/other", 1))
	if code, out, errs := s.run("status"); code != exitFailed || strings.Contains(out+errs, "hunter2") || !strings.Contains(errs, "other.positions") {
		t.Errorf("where nothing was written: exit code %d\n%s%s", code, out, errs)
	}
	s.args = append(s.args[:2:2], "--to", "kafka://u@"+at)
	if code, _, errs := s.run("status"); code != exitUsage {
		t.Errorf("with a user in the command line: exit code %d\n%s", code, errs)
	}
}

// TestASilentBrokerAmongOthersIsPassedOver, wherever it stands in the URL.
func TestASilentBrokerAmongOthersIsPassedOver(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	live, silent := cluster.ListenAddrs()[0], liar(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	made, err := kafka.Open(t.Context(), kafka.Options{}, kgo.SeedBrokers(live))
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	for _, to := range []string{silent + "?brokers=" + live, live + "?brokers=" + silent} {
		s := newStage(t)
		s.args = append(s.args[:2:2], "--to", "kafka://"+to)
		begin := time.Now()
		if code, out, errs := s.run("status"); code != exitOK || time.Since(begin) > 8*time.Second {
			t.Errorf("%s: exit code %d after %v\n%s%s", to, code, time.Since(begin), out, errs)
		}
	}
}
