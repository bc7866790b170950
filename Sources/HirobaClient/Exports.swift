// One import is all a file of an app needs: the calls and models come with the client.
@_exported public import HirobaContract
@_exported public import HirobaJSON
