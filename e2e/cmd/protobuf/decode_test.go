package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
)

// decoders are those of the whole Go types, by type: nil where only JSON will do.
// Each compares what protobuf and JSON give.
var decoders = []decoder{
	of[admissionregistration.MutatingWebhookConfiguration](), of[admissionregistration.ValidatingWebhookConfiguration](),
	of[admissionregistration.ValidatingAdmissionPolicy](), of[admissionregistration.ValidatingAdmissionPolicyBinding](),
	of[apps.ControllerRevision](), of[apps.DaemonSet](), of[apps.Deployment](), of[apps.ReplicaSet](), of[apps.StatefulSet](),
	of[autoscalingv1.HorizontalPodAutoscaler](), of[autoscalingv2.HorizontalPodAutoscaler](),
	of[batch.CronJob](), of[batch.Job](), of[certificates.CertificateSigningRequest](), of[coordination.Lease](),
	of[core.ConfigMap](), of[core.Endpoints](), of[core.Event](), of[core.LimitRange](), of[core.Namespace](), of[core.Node](),
	of[core.PersistentVolume](), of[core.PersistentVolumeClaim](), of[core.Pod](), of[core.PodTemplate](),
	of[core.ReplicationController](), of[core.ResourceQuota](), of[core.Secret](), of[core.Service](), of[core.ServiceAccount](),
	of[discovery.EndpointSlice](), of[events.Event](), of[flowcontrol.FlowSchema](), of[flowcontrol.PriorityLevelConfiguration](),
	of[networking.Ingress](), of[networking.IngressClass](), of[networking.IPAddress](), of[networking.NetworkPolicy](), of[networking.ServiceCIDR](),
	of[node.RuntimeClass](), of[policy.PodDisruptionBudget](),
	of[rbac.ClusterRole](), of[rbac.ClusterRoleBinding](), of[rbac.Role](), of[rbac.RoleBinding](),
	of[resourcev1.DeviceClass](), of[resourcev1.ResourceClaim](), of[resourcev1.ResourceClaimTemplate](), of[resourcev1.ResourceSlice](),
	of[scheduling.PriorityClass](),
	of[storage.CSIDriver](), of[storage.CSINode](), of[storage.CSIStorageCapacity](), of[storage.StorageClass](), of[storage.VolumeAttachment](),
}

type decoder struct {
	typ   reflect.Type
	check func(k kind, sent, text []byte) string
}

// of returns the decoder of a T, which says how the two forms of an object differ.
func of[T any]() decoder {
	return decoder{reflect.TypeFor[T](), func(k kind, sent, text []byte) string {
		decode, ok := protobuf.DecoderOf[*T](k.version.String(), k.name)
		if !ok {
			return "no plan"
		}
		want, err := codec.Decode[*T](text)
		if err != nil {
			return "JSON: " + err.Error()
		}
		got, err := decode(sent)
		if err != nil {
			return "protobuf: " + err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" || reflect.DeepEqual(want, got) {
			return diff
		}
		return fmt.Sprintf("a difference that cmp does not see: %#v, %#v", want, got)
	}}
}

// without is what no plan can fill, and why.
var without = map[string]string{
	"StatefulSet":               "its volume claims have a kind of their own as JSON, which is not on the wire",
	"CertificateSigningRequest": "its extra is a map of lists, which are messages on the wire",
}

// TestWholeTypes: random objects of every kind that can be watched have the same value
// by protobuf and by JSON.
func TestWholeTypes(t *testing.T) {
	checked := 0
	for _, k := range kinds() {
		for _, d := range decoders {
			if d.typ != k.typ {
				continue
			}
			t.Run(k.version.String()+" "+k.name, func(t *testing.T) {
				checked++
				for seed := range uint64(60) {
					f := filler{rand: rand.New(rand.NewPCG(seed, 2)), share: []float64{1, 0.5, 0.1}[seed%3], depth: 20}
					o := reflect.New(k.typ)
					f.fill(o.Elem(), 0)
					sent, text, err := k.encode(o)
					if err != nil {
						t.Fatal(err)
					}
					diff := d.check(k, sent, text)
					if why := without[k.name]; why != "" && diff == "no plan" {
						return
					}
					if diff != "" {
						t.Fatalf("seed %d (-JSON +protobuf):\n%s", seed, diff)
					}
				}
			})
		}
	}
	if checked != len(decoders) {
		t.Errorf("%d of %d types were compared", checked, len(decoders))
	}
}

// eight is a struct that programs have: some fields of a Pod.
type eight struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name      string `json:"name"`
			Image     string `json:"image"`
			Resources struct {
				Requests map[string]string `json:"requests"`
			} `json:"resources"`
			Ports []struct {
				ContainerPort int `json:"containerPort"`
			} `json:"ports"`
		} `json:"containers"`
		Priority    *int64 `json:"priority"`
		HostNetwork *bool  `json:"hostNetwork"`
		Volumes     []struct {
			Name      string `json:"name"`
			ConfigMap *struct {
				Name string `json:"name"`
			} `json:"configMap"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase      string     `json:"phase"`
		PodIP      *string    `json:"podIP"`
		StartTime  *time.Time `json:"startTime"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// TestStructs: the same for structs that name some fields.
func TestStructs(t *testing.T) {
	for _, k := range kinds() {
		if strings.HasSuffix(k.name, "Review") {
			continue
		}
		if k.name == "Pod" {
			each(t, k, of[eight]())
		}
		if f, ok := k.typ.FieldByName("ObjectMeta"); ok && f.Tag.Get("json") != "" {
			each(t, k, of[kube.Partial]())
		}
	}
}

func each(t *testing.T, k kind, d decoder) {
	t.Run(fmt.Sprint(k.version, " ", k.name, " as ", d.typ), func(t *testing.T) {
		for seed := range uint64(100) {
			f := filler{rand: rand.New(rand.NewPCG(seed, 3)), share: []float64{1, 0.5, 0.1}[seed%3], depth: 8}
			o := reflect.New(k.typ)
			f.fill(o.Elem(), 0)
			sent, text, err := k.encode(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := d.check(k, sent, text); diff != "" {
				t.Fatalf("seed %d (-JSON +protobuf):\n%s", seed, diff)
			}
		}
	})
}
