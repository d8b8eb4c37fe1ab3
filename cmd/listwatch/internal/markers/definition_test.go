package markers

import "testing"

// TestPluralIsThatOfControllerGen: which has it from flect.
func TestPluralIsThatOfControllerGen(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "pods", "Box": "boxes", "Policy": "policies", "Gateway": "gateways", "Ingress": "ingresses", "Mesh": "meshes",
		"Settings": "settings", "NodeMetrics": "nodemetrics", "Endpoints": "endpoints", "Redis": "redis", "TimeSeries": "timeseries",
		"SensorData": "sensordata", "Metadata": "metadata", "Media": "media", "Quota": "quotas", "Kafka": "kafkas",
		"Index": "indices", "WebhookIndex": "webhookindices", "Vertex": "vertices", "Matrix": "matrices", "Mutex": "mutexes",
		"Analysis": "analyses", "Hypothesis": "hypotheses", "Diagnosis": "diagnoses", "Axis": "axes", "Alias": "aliases", "Canvas": "canvas",
		"DNS": "dnses", "GPUs": "gpus", "Status": "statuses", "Prometheus": "prometheuses", "OS": "oses", "UnitX": "unitxs",
		"Leaf": "leaves", "Shelf": "shelves", "Knife": "knives", "Cliff": "cliffs", "Quiz": "quizzes", "Child": "children", "Person": "people",
		"Man": "men", "SnowMan": "snowmen", "Woman": "women", "Human": "humans", "Fish": "fish", "Catfish": "catfish", "Dish": "dishes", "Sheep": "sheep",
		"Repo": "repoes", "Portfolio": "portfolios", "Silo": "silos", "Photo": "photos", "Volcano": "volcanos", "Information": "information",
	} {
		if got := plural(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
