import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ConfigError } from './errors.ts'
import type { Config } from './settings.ts'

/** Certificate chain and private key of our own listeners, PEM, with the files that they came from. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: Buffer
  readonly key: Buffer
}

/** Reads the files that the configuration names; undefined = listeners speak plain. Throws `ConfigError`. */
export const readTlsFiles = ({
  tlsCertFile: certFile,
  tlsKeyFile: keyFile,
}: Pick<Config, 'tlsCertFile' | 'tlsKeyFile'>): TlsFiles | undefined => {
  if (certFile === '') return undefined
  const cert = readFile('TLS_CERT_FILE', certFile)
  const key = readFile('TLS_KEY_FILE', keyFile)
  try {
    createSecureContext({ cert, key })
  } catch {
    throw new ConfigError([
      {
        variable: 'TLS_CERT_FILE',
        message: `${certFile} does not match TLS_KEY_FILE (${keyFile}), or one of the two is not PEM; name a certificate and its private key`,
      },
    ])
  }
  return { certFile, keyFile, cert, key }
}

const readFile = (variable: string, path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const message = `${path} cannot be read: ${why}. Check its path and permissions`
    throw new ConfigError([{ variable, message }])
  }
}
