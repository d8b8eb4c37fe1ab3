package kubectl_test

import (
	"cmp"
	"strings"
	"testing"
)

// watchCases compares watches that run at the same time and see the same writes.
func (k *pair) watchCases() {
	type one struct {
		*sideBySide
		expr string
		last string // of the first list
		end  string // of all; "" = zz-end
	}
	var runs []one
	for _, c := range []one{
		{expr: "", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods --event-column=false"}},
		{expr: "", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --output-watch-events -o wide", listwatch: "pods -o wide --output-watch-events"}},
		{expr: "", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --output-watch-events -L app --show-labels", listwatch: "pods -L app --show-labels"}},
		{expr: "", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --show-kind --server-print=false", listwatch: "pods --show-kind --server-print=false --event-column=false"}},
		{expr: "", last: "t-cm-empty", sideBySide: &sideBySide{kubectl: "configmaps --output-watch-events --show-labels --server-print=false", listwatch: "configmaps --show-labels --server-print=false"}},
		{expr: "", last: "t-cm-empty", sideBySide: &sideBySide{kubectl: "configmaps -A --output-watch-events --no-headers", listwatch: "configmaps -A --no-headers"}},
		{expr: "", last: "t-e", sideBySide: &sideBySide{kubectl: "deployments -o wide", listwatch: "deployments -o wide --event-column=false"}},
		{expr: "", last: "t-rich-empty", sideBySide: &sideBySide{kubectl: "rich --output-watch-events", listwatch: "rich"}},
		{expr: "", last: "t-job-queue", sideBySide: &sideBySide{kubectl: "jobs --output-watch-events", listwatch: "jobs"}},
		{expr: "", last: "t-running", end: "app=later", sideBySide: &sideBySide{kubectl: "pods t-running --output-watch-events --show-labels", listwatch: "pods t-running --show-labels"}},
		{expr: "", last: "t-running", end: "app=later", sideBySide: &sideBySide{kubectl: "pod/t-running --show-labels", listwatch: "pod/t-running --show-labels --event-column=false"}},
		{expr: "json", last: "t-running", end: `"later"`, sideBySide: &sideBySide{kubectl: "pods t-running --output-watch-events", listwatch: "pods t-running --output-watch-events --show-managed-fields"}},
		{expr: "json", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --output-watch-events", listwatch: "pods --output-watch-events --show-managed-fields"}},
		{expr: "json", last: "t-rich-empty", sideBySide: &sideBySide{kubectl: "rich --output-watch-events", listwatch: "rich --output-watch-events --show-managed-fields"}},
		{expr: "json", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods"}},
		{expr: "yaml", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --output-watch-events", listwatch: "pods --output-watch-events --show-managed-fields"}},
		{expr: "yaml", last: "t-rich-empty", sideBySide: &sideBySide{kubectl: "rich", listwatch: "rich"}},
		{expr: "kyaml", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods --output-watch-events", listwatch: "pods --output-watch-events --show-managed-fields"}},
		{expr: "kyaml", last: "t-e", sideBySide: &sideBySide{kubectl: "deployments", listwatch: "deployments"}},
		{expr: "name", last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods"}},
		{expr: "name", last: "t-e", sideBySide: &sideBySide{kubectl: "deployments", listwatch: "deployments"}},
		{expr: `jsonpath={.metadata.name} {.status.phase} {.metadata.labels} {.nope}{"\n"}`, last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods"}},
		{expr: `go-template={{.metadata.name}} {{.nope}} {{exists . "metadata" "labels"}}{{"\n"}}`, last: "t-terminating", sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods"}},
		{expr: "custom-columns=NAME:.metadata.name,PHASE:.status.phase,LABELS:.metadata.labels,NONE:.nope", last: "t-terminating",
			sideBySide: &sideBySide{kubectl: "pods", listwatch: "pods --event-column=false"}},
		{expr: `jsonpath={.type} {.object.metadata.name} {.object.status.phase}{"\n"}`, last: "t-terminating",
			sideBySide: &sideBySide{kubectl: "pods --output-watch-events", listwatch: "pods --output-watch-events"}},
		{expr: `go-template={{.type}} {{.object.metadata.name}} {{.object.metadata.labels}}{{"\n"}}`, last: "t-rich-empty",
			sideBySide: &sideBySide{kubectl: "rich --output-watch-events", listwatch: "rich --output-watch-events"}},
		{expr: "custom-columns=TYPE:.type,NAME:.object.metadata.name,PHASE:.object.status.phase", last: "t-terminating",
			sideBySide: &sideBySide{kubectl: "pods --output-watch-events", listwatch: "pods --output-watch-events"}},
	} {
		theirs, ours := strings.Fields("get -w "+c.kubectl), strings.Fields("watch "+c.listwatch)
		if c.expr != "" {
			theirs, ours = append(theirs, "-o", c.expr), append(ours, "-o", c.expr)
		}
		c.a = k.start(k.kubectl, append(theirs, k.flags...))
		c.b = k.start(k.program.Path, append(ours, k.flags...))
		runs = append(runs, c)
	}
	for _, c := range runs {
		c.a.waitFor(c.last)
		c.b.waitFor(c.last)
	}
	for line := range strings.Lines(watchedWrites) {
		k.send(k.Context(), strings.TrimSpace(line))
	}
	for _, c := range runs {
		k.Run(c.kubectl+" "+c.expr, func(t *testing.T) {
			end := cmp.Or(c.end, "zz-end")
			want, got := c.a.endAt(end), c.b.endAt(end)
			rows := c.expr == "" || strings.HasPrefix(c.expr, "custom-columns")
			if diff := differs(want, got, rows); diff != "" {
				t.Errorf("(-kubectl +listwatch):\n%s", diff)
			}
		})
	}
}

// watchedWrites end with an object of each watched type.
const watchedWrites = `DELETE /api/v1/namespaces/tables/limitranges/t-limits
DELETE /api/v1/namespaces/tables/resourcequotas/t-quota
POST /api/v1/namespaces/tables/configmaps {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w-a-name-that-is-longer-than-any","labels":{"app":"x"}},"data":{"a":"b"}}
PATCH /api/v1/namespaces/tables/configmaps/l-one {"metadata":{"labels":{"app":"changed","more":"labels"}},"data":{"a":"b"}}
DELETE /api/v1/namespaces/tables/configmaps/l-both
POST /api/v1/namespaces/tables/pods {"apiVersion":"v1","kind":"Pod","metadata":{"name":"w-pod","labels":{"app":"w"}},"spec":{"automountServiceAccountToken":false,"terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"registry.invalid/a:1"}]}}
PATCH /api/v1/namespaces/tables/pods/w-pod/status {"status":{"phase":"Running","podIP":"10.9.0.7","podIPs":[{"ip":"10.9.0.7"}],"containerStatuses":[{"name":"main","image":"i","imageID":"","ready":true,"restartCount":12,"state":{"running":{"startedAt":"1999-01-02T03:04:05Z"}}}]}}
PATCH /api/v1/namespaces/tables/pods/t-running {"metadata":{"labels":{"app":"later"}}}
PATCH /api/v1/namespaces/tables/pods/w-pod/status {"status":{"phase":"Failed","reason":"AReasonThatIsLongerThanTheColumn"}}
DELETE /api/v1/namespaces/tables/pods/w-pod
PATCH /apis/apps/v1/namespaces/tables/deployments/t-d {"spec":{"replicas":70000}}
PATCH /apis/apps/v1/namespaces/tables/deployments/t-d/status {"status":{"replicas":70000,"readyReplicas":65000,"updatedReplicas":4,"availableReplicas":3}}
DELETE /apis/apps/v1/namespaces/tables/deployments/t-e
PATCH /apis/tables.example.com/v1/namespaces/tables/rich/t-rich {"spec":{"text":"another text","int":123456789,"num":2.25,"list":null}}
DELETE /apis/tables.example.com/v1/namespaces/tables/rich/t-rich-empty
PATCH /apis/batch/v1/namespaces/tables/jobs/t-job/status {"status":{"active":0,"succeeded":2}}
DELETE /apis/batch/v1/namespaces/tables/jobs/t-job-new
POST /api/v1/namespaces/tables/configmaps {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"zz-end"}}
POST /api/v1/namespaces/tables/pods {"apiVersion":"v1","kind":"Pod","metadata":{"name":"zz-end"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"main","image":"registry.invalid/a:1"}]}}
POST /apis/apps/v1/namespaces/tables/deployments {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"zz-end"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"main","image":"registry.invalid/a:1"}]}}}}
POST /apis/tables.example.com/v1/namespaces/tables/rich {"apiVersion":"tables.example.com/v1","kind":"Rich","metadata":{"name":"zz-end"},"spec":{"int":1}}
POST /apis/batch/v1/namespaces/tables/jobs {"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"zz-end"},"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.invalid/a:1"}],"restartPolicy":"Never"}}}}
`
