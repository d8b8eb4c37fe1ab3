package pods

import (
	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// ContainersColumn is a column of workloads, for -o wide.
func ContainersColumn() columns.Definition {
	return columns.Wide("Containers", "names of the containers")
}

// ImagesColumn is another.
func ImagesColumn() columns.Definition { return columns.Wide("Images", "images of the containers") }

// SelectorColumn is another.
func SelectorColumn() columns.Definition {
	return columns.Wide("Selector", "labels of what is selected")
}

// ReplicaColumns are those of resources that keep a number of pods.
func ReplicaColumns() []columns.Definition {
	return columns.List(
		columns.Integer("Desired", "pods wanted"),
		columns.Integer("Current", "pods that are there"),
		columns.Integer("Ready", "pods that are ready"),
		columns.AgeColumn(), ContainersColumn(), ImagesColumn(), SelectorColumn(),
	)
}

// ReplicaCells returns their cells. text prints a selector.
func ReplicaCells[S any](text func(selector *S) string) func(r *columns.Row) {
	return func(r *columns.Row) {
		var spec struct {
			Replicas int
			Template Template
			Selector *S
		}
		var status struct{ Replicas, ReadyReplicas int }
		r.Read("spec", &spec)
		r.Read("status", &status)
		names, images := spec.Template.Containers()
		r.Add(r.Meta.Name, spec.Replicas, status.Replicas, status.ReadyReplicas, r.Age(), names, images, text(spec.Selector))
	}
}
