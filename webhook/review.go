package webhook

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// The forms of admission.k8s.io/v1 and apiextensions.k8s.io/v1, as far as they are used.

const (
	admissionVersion  = "admission.k8s.io/v1"
	conversionVersion = "apiextensions.k8s.io/v1"
)

type admissionReview struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Request    *admissionRequest  `json:"request,omitempty"`
	Response   *admissionResponse `json:"response,omitempty"`
}

type admissionRequest struct {
	UID      string `json:"uid"`
	Resource struct {
		Group    string `json:"group"`
		Version  string `json:"version"`
		Resource string `json:"resource"`
	} `json:"resource"`
	Subresource string          `json:"subResource"`
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace"`
	Operation   Operation       `json:"operation"`
	UserInfo    User            `json:"userInfo"`
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject"`
	DryRun      bool            `json:"dryRun"`
}

type admissionResponse struct {
	UID       string       `json:"uid"`
	Allowed   bool         `json:"allowed"`
	Status    *kube.Status `json:"status,omitempty"`
	Patch     []byte       `json:"patch,omitempty"`
	PatchType string       `json:"patchType,omitempty"`
	Warnings  []string     `json:"warnings,omitempty"`
}

type conversionReview struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Request    *conversionRequest  `json:"request,omitempty"`
	Response   *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID     string            `json:"uid"`
	Desired string            `json:"desiredAPIVersion"`
	Objects []json.RawMessage `json:"objects"`
}

type conversionResponse struct {
	UID       string            `json:"uid"`
	Converted []json.RawMessage `json:"convertedObjects"`
	Result    result            `json:"result"`
}

type result struct {
	Status  string `json:"status"` // Success or Failure
	Message string `json:"message,omitempty"`
}

// parseAdmission returns the request of an AdmissionReview for r.
func parseAdmission(body []byte, r kube.Resource, subresources []string) (*admissionRequest, error) {
	review, err := codec.Decode[admissionReview](body)
	if err != nil {
		return nil, fmt.Errorf("the body is no AdmissionReview: %w", err)
	}
	q := review.Request
	switch {
	case review.APIVersion != admissionVersion || review.Kind != "AdmissionReview":
		return nil, fmt.Errorf("the body is no AdmissionReview of %s", admissionVersion)
	case q == nil || q.UID == "":
		return nil, errors.New("the AdmissionReview has no request with a UID")
	case q.Resource.Group != r.Group || q.Resource.Version != r.Version || q.Resource.Resource != r.Plural:
		return nil, fmt.Errorf("the AdmissionReview is not about %s: the rules of the webhook configuration do not fit this path", r)
	}
	for _, sub := range subresources {
		if q.Subresource == sub {
			return q, nil
		}
	}
	return nil, fmt.Errorf("the AdmissionReview is about a subresource of %s that this webhook does not handle", r)
}

// parseConversion returns the request of a ConversionReview.
func parseConversion(body []byte) (*conversionRequest, error) {
	review, err := codec.Decode[conversionReview](body)
	if err != nil {
		return nil, fmt.Errorf("the body is no ConversionReview: %w", err)
	}
	switch {
	case review.APIVersion != conversionVersion || review.Kind != "ConversionReview":
		return nil, fmt.Errorf("the body is no ConversionReview of %s", conversionVersion)
	case review.Request == nil || review.Request.UID == "":
		return nil, errors.New("the ConversionReview has no request with a UID")
	}
	return review.Request, nil
}
