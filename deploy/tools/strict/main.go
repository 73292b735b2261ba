// Command strict reads Kubernetes manifests from standard input and fails when one has a field, or is of a kind, that
// Kubernetes' own types do not know.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
}

func check(manifests io.Reader) error {
	kinds := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme)
	if err := known.AddToScheme(kinds); err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(manifests))
	for read := 0; ; read++ {
		manifest, err := reader.Read()
		if errors.Is(err, io.EOF) && read > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if _, _, err := decoder.Decode(manifest, nil, nil); err != nil {
			return fmt.Errorf("manifest %d: %w", read+1, err)
		}
	}
}
