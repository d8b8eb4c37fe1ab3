package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/pods"
)

// Columns that workloads have for -o wide.
func containersColumn() columns.Definition {
	return columns.Wide("Containers", "names of the containers")
}

func imagesColumn() columns.Definition { return columns.Wide("Images", "images of the containers") }

func selectorColumn() columns.Definition {
	return columns.Wide("Selector", "labels of what is selected")
}

func replicaColumns() []columns.Definition {
	return columns.List(
		columns.Integer("Desired", "pods wanted"),
		columns.Integer("Current", "pods that are there"),
		columns.Integer("Ready", "pods that are ready"),
		columns.AgeColumn(), containersColumn(), imagesColumn(), selectorColumn(),
	)
}

func replicaCells[S any](text func(selector *S) string) func(r *columns.Row) {
	return func(r *columns.Row) {
		var spec struct {
			Replicas int
			Template pods.Template
			Selector *S
		}
		var status struct{ Replicas, ReadyReplicas int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.Containers()
		r.Add(r.Meta.Name, spec.Replicas, status.Replicas, status.ReadyReplicas, r.Age(), names, images, text(spec.Selector))
	}
}
