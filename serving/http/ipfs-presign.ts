import { randomUUID } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { PresignedUpload } from '../../schemas/api/upload.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** Time in which an upload may begin. */
const EXPIRES_SECONDS = 900

/** What signing an upload needs. */
export interface PresignDeps {
  readonly nowMs: () => number
  readonly config: Pick<
    Config,
    'ipfsUploadUrl' | 'ipfsUploadRegion' | 'ipfsUploadKeyId' | 'ipfsUploadSecret'
  >
}

/**
 * Signs the address of a new object of the operator's bucket for one PUT (AWS Signature Version 4 in the query). Nothing is sent:
 * the storage checks the signature. Throws `Fault` SIGNED_URL_FAILED where no storage is configured.
 */
const signUpload = async ({ nowMs, config }: PresignDeps): Promise<string> => {
  if (config.ipfsUploadUrl === '') throw new Fault('SIGNED_URL_FAILED')
  const target = new URL(randomUUID(), config.ipfsUploadUrl)
  target.searchParams.set('X-Amz-Expires', String(EXPIRES_SECONDS))
  const signer = new AwsV4Signer({
    method: 'PUT',
    url: target.href,
    service: 's3',
    region: config.ipfsUploadRegion,
    accessKeyId: config.ipfsUploadKeyId,
    secretAccessKey: config.ipfsUploadSecret.reveal(),
    // ISO 8601 in its basic form, whole seconds.
    datetime: new Date(nowMs()).toISOString().replace(/[-:]|\.\d{3}/g, ''),
    signQuery: true,
  })
  return (await signer.sign()).url.href
}

/** Addresses for uploads to the operator's storage. */
export const presignRoutes =
  (deps: PresignDeps): RoutePlugin =>
  async (app) => {
    app.post(
      '/ipfs/presign',
      {
        schema: {
          summary: 'Address that takes one file for IPFS, where the operator configured a storage',
          tags: ['ipfs'],
          response: { 200: PresignedUpload },
        },
        config: pricedRoute('POST /ipfs/presign'),
      },
      async () => ({ presignUrl: await signUpload(deps) }),
    )
  }
