package postgres_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// TestQueryOfTheDocs: which deployments changed their image today, and which team had them.
func TestQueryOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/sinks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```sql\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/sinks.md has no SQL")
	}
	schema := fmt.Sprint("query ", schemas.Add(1))
	s := open(t, schema)
	p, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Deployments})
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC()
	var all []sink.Record
	add := func(typ sink.Type, name, image string, at time.Time) {
		all = append(all, sink.Record{
			ID: fmt.Sprint(len(all)), Type: typ, Cluster: "c", Group: "apps", Resource: "deployments", Namespace: "shop", Name: name, UID: "uid-" + name, Epoch: 1, Time: at,
			Labels: map[string]string{"team": "red"}, Object: json.RawMessage(fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"image":%q}]}}}}`, image)),
		})
	}
	add(sink.Added, "web", "nginx:1", today.AddDate(0, 0, -2))
	add(sink.Added, "api", "api:1", today.AddDate(0, 0, -2))
	add(sink.Modified, "api", "api:2", today.AddDate(0, 0, -2))
	add(sink.Modified, "web", "nginx:1", today)
	add(sink.Modified, "web", "nginx:2", today)
	add(sink.Added, "new", "new:1", today)
	add(sink.Modified, "api", "api:2", today)
	p.Sequence++
	p.Time = today
	if err := s.Commit(t.Context(), all, p); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	text = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(text), ";"), "listwatch.", pgx.Identifier{schema}.Sanitize()+".")
	rows, err := c.Query(t.Context(), `SELECT concat_ws(' ', namespace, name, image, team) FROM (`+text+`) AS q`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if diff := cmp.Diff([]string{"shop web nginx:2 red"}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
