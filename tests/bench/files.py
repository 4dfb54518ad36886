"""files.py — arrays between pxl and its peers, with Python's own library alone: .npy and safetensors."""
import array, ast, json

KINDS = {"<f4": "f", "<i4": "i", "F32": "f", "I32": "i", "U32": "I"}


def write_npy(path, descr, shape, numbers):
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array(KINDS[descr], numbers).tofile(f)


def read_npy(path):
    """(shape, flat array.array)"""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(10)[8:], "little")
        head = ast.literal_eval(f.read(size).decode())
        return head["shape"], array.array(KINDS[head["descr"]], f.read())


def read_safetensors(path):
    """name to (shape, flat array.array)"""
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    head.pop("__metadata__", None)
    return {n: (t["shape"], array.array(KINDS[t["dtype"]], data[slice(*t["data_offsets"])])) for n, t in head.items()}
