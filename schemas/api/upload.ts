import { Type } from 'typebox'
import { namedObject } from './common.ts'

/** Where a file can be put for a while. */
export const PresignedUpload = namedObject('PresignedUpload', {
  presignUrl: Type.String({ description: 'Takes one file by PUT for 15 minutes' }),
})
