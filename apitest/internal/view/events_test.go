package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

var newEvents = kinds.Named("events.k8s.io", "events", "Event")

// Each pair was seen at a real server: one event, read in both groups.
var eventPairs = map[string][2]string{
	"of the core group": {
		`{"kind":"Event","apiVersion":"v1","metadata":{"name":"c1"},"involvedObject":{"kind":"Pod","namespace":"default","name":"a","fieldPath":"x"},"reason":"R","message":"m","source":{"component":"k","host":"h"},"firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:01Z","count":3,"type":"Normal","eventTime":null,"reportingComponent":"","reportingInstance":""}`,
		`{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"c1"},"eventTime":null,"reason":"R","regarding":{"kind":"Pod","namespace":"default","name":"a","fieldPath":"x"},"note":"m","type":"Normal","deprecatedSource":{"component":"k","host":"h"},"deprecatedFirstTimestamp":"2026-01-01T00:00:00Z","deprecatedLastTimestamp":"2026-01-01T00:00:01Z","deprecatedCount":3}`,
	},
	"with little": {
		`{"kind":"Event","apiVersion":"v1","metadata":{"name":"c2"},"involvedObject":{"kind":"Pod","namespace":"default","name":"a"},"reason":"R","source":{},"firstTimestamp":null,"lastTimestamp":null,"type":"Normal","eventTime":null,"reportingComponent":"","reportingInstance":""}`,
		`{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"c2"},"eventTime":null,"reason":"R","regarding":{"kind":"Pod","namespace":"default","name":"a"},"type":"Normal","deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}`,
	},
	"of the new group": {
		`{"kind":"Event","apiVersion":"v1","metadata":{"name":"e1"},"involvedObject":{},"reason":"R","source":{},"firstTimestamp":null,"lastTimestamp":null,"type":"Normal","eventTime":"2026-01-01T00:00:00.000001Z","series":{"count":2,"lastObservedTime":"2026-01-01T00:00:02.500000Z"},"action":"A","related":{"kind":"X"},"reportingComponent":"rc","reportingInstance":"ri"}`,
		`{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e1"},"eventTime":"2026-01-01T00:00:00.000001Z","series":{"count":2,"lastObservedTime":"2026-01-01T00:00:02.500000Z"},"reportingController":"rc","reportingInstance":"ri","action":"A","reason":"R","regarding":{},"related":{"kind":"X"},"type":"Normal","deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}`,
	},
}

func TestEventsHaveTwoForms(t *testing.T) {
	for name, pair := range eventPairs {
		t.Run(name, func(t *testing.T) {
			core, other := object.DecodeValue([]byte(pair[0])), object.DecodeValue([]byte(pair[1]))
			if diff := cmp.Diff(other, eventFromCore(core)); diff != "" {
				t.Errorf("from core (-real +got):\n%s", diff)
			}
			if diff := cmp.Diff(core, EventToCore(other)); diff != "" {
				t.Errorf("to core (-real +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{object.DecodeValue([]byte(pair[0])), object.DecodeValue([]byte(pair[1]))}, []any{core, other}); diff != "" {
				t.Errorf("the original changed (-want +got):\n%s", diff)
			}
			again := schema.Copy(core)
			if kinds.SetDefaults(kube.Events, again) {
				t.Errorf("the defaults change what is complete:\n%s", cmp.Diff(core, again))
			}
		})
	}
}

func TestEventOfAnObject(t *testing.T) {
	info := object.Info{Resource: newEvents, BuiltIn: true}
	o, err := object.Parse(kube.Events, []byte(eventPairs["with little"][0]))
	if err != nil {
		t.Fatal(err)
	}
	o.Seal(&object.Info{Resource: kube.Events, BuiltIn: true}, 7)
	got := eventOf(&info, o)
	want := strings.Replace(eventPairs["with little"][1], `"name":"c2"`, `"name":"c2","resourceVersion":"7"`, 1)
	if diff := cmp.Diff(object.DecodeValue([]byte(want)), object.DecodeValue(got.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(got.Body), `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{`) {
		t.Errorf("not in the order of the server: %s", got.Body)
	}
	bookmark := &object.Object{}
	bookmark.Seal(&info, 8)
	if got := eventOf(&info, bookmark); got != bookmark {
		t.Errorf("a bookmark became %s", got.Body)
	}
}

func TestEventSelectorsHaveTwoNames(t *testing.T) {
	for path, want := range map[string]string{
		"regarding.name": "involvedObject.name", "regarding.fieldPath": "involvedObject.fieldPath", "reportingController": "reportingComponent",
		"reason": "reason", "metadata.name": "metadata.name", "regarding.x": "regarding.x",
	} {
		if got := kinds.StoredPath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
