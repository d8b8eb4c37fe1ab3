package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// flowcontrolKinds are the kinds of flowcontrol.apiserver.k8s.io.
func flowcontrolKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema"), Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Number(d.Object(o, "spec"), "matchingPrecedence", 1000)
				d.DropIn(rules.ObjectAt(o, "status"), "conditions", "reason", "message")
			},
			Status:  `{}`,
			Zero:    `"spec":{"priorityLevelConfiguration":{"name":""},"matchingPrecedence":0},"status":{}`,
			Printer: flowPrinter,
		},
		{
			Info: object.Info{Resource: cluster("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "PriorityLevelConfiguration"), Status: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				spec := rules.ObjectAt(o, "spec")
				fillPriorityLevel(d, spec)
				d.DropIn(rules.ObjectAt(o, "status"), "conditions", "reason", "message")
			},
			Status:  `{}`,
			Zero:    `"spec":{"type":""},"status":{}`,
			Printer: levelPrinter,
		},
	}
}

func fillPriorityLevel(d *rules.Defaults, spec map[string]any) {
	if exempt := rules.ObjectAt(spec, "exempt"); exempt != nil {
		d.Set(exempt, "nominalConcurrencyShares", int64(0))
		d.Set(exempt, "lendablePercent", int64(0))
	} else if spec["type"] == "Exempt" {
		d.Put(spec, "exempt", map[string]any{"nominalConcurrencyShares": int64(0), "lendablePercent": int64(0)})
	}
	if limited := rules.ObjectAt(spec, "limited"); limited != nil {
		d.Set(limited, "nominalConcurrencyShares", int64(30))
		d.Set(limited, "lendablePercent", int64(0))
		response := d.Object(limited, "limitResponse")
		if q := rules.ObjectAt(response, "queuing"); q != nil {
			d.Number(q, "handSize", 8)
			d.Number(q, "queues", 64)
			d.Number(q, "queueLengthLimit", 50)
		}
	}
}

var flowPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("PriorityLevel", "where its requests wait"),
		columns.Text("MatchingPrecedence", "the least is asked first"),
		columns.Text("DistinguisherMethod", "how flows are distinguished"),
		columns.AgeColumn(),
		columns.Text("MissingPL", "whether there is no such level"),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			PriorityLevelConfiguration struct{ Name string }
			MatchingPrecedence         int
			DistinguisherMethod        *struct{ Type string }
		}
		var status struct{ Conditions columns.Conditions }
		r.Read("spec", &spec)
		r.Read("status", &status)
		method, dangling := columns.None, "?"
		if m := spec.DistinguisherMethod; m != nil {
			method = m.Type
		}
		for _, c := range status.Conditions {
			if c.Type == "Dangling" {
				dangling = c.Status
			}
		}
		r.Add(r.Meta.Name, spec.PriorityLevelConfiguration.Name, spec.MatchingPrecedence, method, r.Age(), dangling)
	},
}

var levelPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Type", "Limited, or Exempt"),
		columns.Text("NominalConcurrencyShares", "its part of all requests"),
		columns.Text("Queues", "number of queues"),
		columns.Text("HandSize", "queues of one flow"),
		columns.Text("QueueLengthLimit", "requests in one queue"),
		columns.AgeColumn(),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			Type    string
			Limited *struct {
				NominalConcurrencyShares *int
				LimitResponse            struct {
					Queuing *struct{ Queues, HandSize, QueueLengthLimit int }
				}
			}
		}
		r.Read("spec", &spec)
		var shares, queues, hand, length any = columns.None, columns.None, columns.None, columns.None
		if l := spec.Limited; l != nil {
			shares = columns.Or(l.NominalConcurrencyShares, 0)
			if q := l.LimitResponse.Queuing; q != nil {
				queues, hand, length = q.Queues, q.HandSize, q.QueueLengthLimit
			}
		}
		r.Add(r.Meta.Name, spec.Type, shares, queues, hand, length, r.Age())
	},
}
