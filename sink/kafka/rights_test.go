package kafka_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/listwatch/listwatch/sink/kafka"
)

// TestRightsThatAreNeeded: who may not make topics uses those that are there, and who may not read
// their configuration, too.
func TestRightsThatAreNeeded(t *testing.T) {
	may := func(ops ...kmsg.ACLOperation) (all []kfake.ACL) {
		for _, op := range ops {
			all = append(all, kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "listwatch", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: op, Allow: true})
		}
		return all
	}
	const read, describe, configs = kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "a"),
		kfake.User("PLAIN", "reader", "a", may(read, describe, configs)...), kfake.User("PLAIN", "blind", "a", may(read, describe)...))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	openAs := func(user string, log io.Writer) error {
		s, err := kafka.Open(t.Context(), kafka.Options{Logger: slog.New(slog.NewTextHandler(log, nil))},
			kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(plain.Auth{User: user, Pass: "a"}.AsMechanism()))
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := openAs("reader", io.Discard); err == nil || !strings.Contains(err.Error(), "make the topic listwatch.history: ") {
		t.Errorf("without topics: %v", err)
	}
	if err := openAs("admin", io.Discard); err != nil {
		t.Fatal(err)
	}
	for user, warnings := range map[string]int{"reader": 0, "blind": 3} {
		var log strings.Builder
		if err := openAs(user, &log); err != nil || strings.Count(log.String(), "may not be read") != warnings {
			t.Errorf("%s: %v\n%s", user, err, log.String())
		}
	}
}
