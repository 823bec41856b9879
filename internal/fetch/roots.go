package fetch

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/airlock-exec/airlock/internal/files/fault"
	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/protocol"
)

// The variables that name a file of certificates, in the order in which they
// count.
var rootVariables = []string{"CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"}

// howToMend ends the errors about such a file.
const howToMend = "If you set CODEX_CA_CERTIFICATE or SSL_CERT_FILE, ensure it points to a PEM file " +
	"containing one or more CERTIFICATE blocks, or unset it to use system roots."

// roots returns who is trusted: the system's authorities, and those of a file that
// the environment names.
func (f *Fetcher) roots() (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		pool = bundled()
	}
	for _, variable := range rootVariables {
		if path := f.first(variable); path != "" {
			return pool, addFile(pool, variable, path)
		}
	}
	return pool, nil
}

// bundled returns Mozilla's authorities, for systems that have none.
func bundled() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil:
		case root.Constraint == nil:
			pool.AddCert(cert)
		default:
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}

// addFile adds the certificates of a file.
func addFile(pool *x509.CertPool, variable, path string) error {
	data, err := readBounded(path, limits.CertificateFileBytes)
	if err != nil {
		return rootError("Failed to read CA certificate file %s selected by %s: %s. %s", path, variable, fault.Text(err), howToMend)
	}
	count := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
			continue
		}
		count++
		cert, err := parseCertificate(block)
		if err != nil {
			return rootError("Failed to parse certificate #%d from %s selected by %s: builder error: %v. %s", count, path, variable, err, howToMend)
		}
		pool.AddCert(cert)
	}
	if count == 0 {
		return rootError("Failed to load CA certificates from %s selected by %s: no certificates found in PEM file. %s", path, variable, howToMend)
	}
	return nil
}

// parseCertificate reads the certificate of a block. In a trusted one OpenSSL's
// notes follow it.
func parseCertificate(block *pem.Block) (*x509.Certificate, error) {
	der := block.Bytes
	if block.Type == "TRUSTED CERTIFICATE" {
		der = firstElement(der)
	}
	return x509.ParseCertificate(der)
}

// firstElement returns the first element of DER, or all if there is none whole.
func firstElement(der []byte) []byte {
	if len(der) < 2 {
		return der
	}
	length, header := int(der[1]), 2
	if length >= 0x80 {
		octets := length & 0x7f
		if octets > 3 || len(der) < 2+octets {
			return der
		}
		length, header = 0, 2+octets
		for _, b := range der[2:header] {
			length = length<<8 | int(b)
		}
	}
	return der[:min(len(der), header+length)]
}

// errFileTooLarge says that a file has more than is read.
var errFileTooLarge = errors.New("the file is too large")

func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, errFileTooLarge
	}
	return data.Bytes(), nil
}

func rootError(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeInternal, "http/request failed: "+format, args...)
}
