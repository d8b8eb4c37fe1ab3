package simulate

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// maxEvents limits the Events of the cluster; the oldest are deleted first, as in a
// real cluster after an hour.
const maxEvents = 5000

// record records an Event about an object.
func (c *Cluster) record(r kube.Resource, o *object, component, reason, format string, args ...any) {
	c.event(r, o, "Normal", component, reason, fmt.Sprintf(format, args...))
}

func (c *Cluster) event(r kube.Resource, o *object, typ, component, reason, message string) {
	c.noted++
	namespace := o.Metadata.Namespace
	if namespace == "" {
		namespace = "default"
	}
	key := kube.Key{Namespace: namespace}
	for key.Name == "" || c.srv.Get(kube.Events, key) != nil { // one of an earlier simulation
		key.Name = fmt.Sprintf("%s.%016x", strings.ToLower(o.Metadata.Name), c.random.Uint64())
	}
	now := stamp(c.now)
	c.srv.Put(kube.Events, map[string]any{
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"involvedObject": map[string]any{"kind": r.Kind, "apiVersion": r.APIVersion(), "namespace": o.Metadata.Namespace,
			"name": o.Metadata.Name, "uid": o.Metadata.UID},
		"reason": reason, "message": message, "type": typ, "count": 1,
		"firstTimestamp": now, "lastTimestamp": now, "eventTime": nil,
		"source": map[string]any{"component": component}, "reportingComponent": component, "reportingInstance": "",
	})
	if c.events = append(c.events, key); len(c.events) > maxEvents {
		c.srv.Delete(kube.Events, c.events[0])
		c.events = c.events[1:]
	}
}
