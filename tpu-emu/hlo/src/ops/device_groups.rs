//! Which devices of a collective work together, in the four forms that HLO has had.
use crate::ReadError;
use crate::attributes::rows;
use tpu_proto::xla::{
    HloInstructionProto, IotaReplicaGroupListProto, MeshAxesReplicaGroupListProto, MeshProto,
};
use tpu_stablehlo::ir::{Attribute, AxisRef, Mesh, MeshAxes, MeshRef};

/// Groups may name so many devices, however briefly they are written.
const MAX_DEVICES: usize = 1 << 20;

/// Groups of devices.
#[derive(Debug, PartialEq)]
pub(super) enum Groups {
    /// By number.
    Listed(Vec<Vec<i64>>),
    /// By axes of a mesh.
    Along(MeshAxes),
}

impl Groups {
    /// The attribute of StableHLO.
    pub(super) fn attribute(self) -> Attribute {
        match self {
            Self::Listed(groups) => group_rows(&groups),
            Self::Along(axes) => Attribute::MeshAxes(axes),
        }
    }

    /// The size of a group that has not as many devices as this.
    pub(super) fn other_than(&self, devices: i64) -> Option<i64> {
        let sizes = match self {
            Self::Listed(groups) => {
                groups.iter().filter_map(|of| i64::try_from(of.len()).ok()).collect()
            }
            Self::Along(_) => Vec::from_iter(self.size()),
        };
        sizes.into_iter().find(|&size| size != devices)
    }

    /// How many devices a group has; `None` without groups.
    pub(super) fn size(&self) -> Option<i64> {
        match self {
            Self::Listed(groups) => i64::try_from(groups.first()?.len()).ok(),
            Self::Along(MeshAxes { mesh: MeshRef::Inline(mesh), axes }) => {
                axes.iter().try_fold(1_i64, |total, axis| {
                    let whole = mesh.axes.iter().find(|(name, _)| *name == axis.name)?.1;
                    total.checked_mul(axis.part.map_or(whole, |(_, size)| size))
                })
            }
            Self::Along(_) => None,
        }
    }
}

/// The groups of an instruction.
///
/// # Errors
/// Groups that are given in two ways and differ, or that do not fit their numbers.
pub(super) fn groups(one: &HloInstructionProto) -> Result<Groups, ReadError> {
    let listed = one.collective_device_list.as_ref();
    let numbers = |groups: &[tpu_proto::xla::ReplicaGroup]| {
        let rows = groups.iter().map(|group| group.replica_ids.clone()).collect::<Vec<_>>();
        (!rows.is_empty()).then_some(Groups::Listed(rows))
    };
    let iota = listed.and_then(|listed| listed.iota_replica_group_list.as_ref());
    let iotas = [iota, one.iota_collective_device_list.as_ref()];
    let mut found = vec![numbers(&one.replica_groups)];
    found.push(listed.and_then(|listed| numbers(&listed.replica_groups)));
    for iota in iotas.into_iter().flatten() {
        found.push(Some(Groups::Listed(iota_groups(iota)?)));
    }
    if let Some(along) = &one.mesh_axes_replica_group_list {
        found.push(Some(Groups::Along(mesh_axes(along)?)));
    }
    let mut found = found.into_iter().flatten();
    let first = found.next();
    if let (Some(first), Some(other)) = (&first, found.find(|other| first.as_ref() != Some(other)))
    {
        let what = format!("groups of devices that are given twice: {first:?} and {other:?}");
        return Err(ReadError::new(what));
    }
    Ok(first.unwrap_or(Groups::Listed(Vec::new())))
}

/// Axes of a mesh by their names. Whether they fit it, the loader sees.
fn mesh_axes(groups: &MeshAxesReplicaGroupListProto) -> Result<MeshAxes, ReadError> {
    let mesh = groups.mesh.as_ref().ok_or_else(|| ReadError::new("groups without a mesh"))?;
    let axis = |axis: &tpu_proto::xla::AxisRefProto| {
        let index = axis.mesh_axis_index;
        let named = usize::try_from(index).ok().and_then(|index| mesh.axes.get(index));
        let missing =
            || ReadError::new(format!("axis {index} of a mesh of {} axes", mesh.axes.len()));
        let name = named.ok_or_else(missing)?.name.as_str().into();
        let part = axis.sub_axis_info.as_ref().map(|part| (part.pre_size, part.size));
        Ok(AxisRef { name, part })
    };
    let axes = groups.axes.iter().map(axis).collect::<Result<_, ReadError>>()?;
    let named = mesh.axes.iter().map(|axis| (axis.name.as_str().into(), axis.size)).collect();
    let mesh = Mesh { axes: named, device_ids: device_ids(mesh)? };
    Ok(MeshAxes { mesh: MeshRef::Inline(mesh), axes })
}

/// The devices of a mesh; none for 0, 1, 2, ….
fn device_ids(mesh: &MeshProto) -> Result<Vec<i64>, ReadError> {
    let Some(order) = &mesh.iota_transform else { return Ok(mesh.device_ids.clone()) };
    if !mesh.device_ids.is_empty() {
        return Err(ReadError::new("a mesh whose devices are given twice"));
    }
    let total = order.reshape_dims.iter().try_fold(1_i64, |total, &dim| total.checked_mul(dim));
    let axis = |&axis: &i64| i32::try_from(axis).ok();
    let perm = order.transpose_perm.iter().map(axis).collect::<Option<Vec<i32>>>();
    let bad = || ReadError::new("a mesh whose devices do not fit their numbers");
    let iota = IotaReplicaGroupListProto {
        num_replica_groups: 1,
        num_devices_per_group: total.ok_or_else(bad)?,
        iota_reshape_dims: order.reshape_dims.clone(),
        iota_transpose_perm: perm.ok_or_else(bad)?,
    };
    Ok(iota_groups(&iota)?.concat())
}

/// Rows of 0, 1, 2, … after reshaping and transposing.
fn iota_groups(iota: &IotaReplicaGroupListProto) -> Result<Vec<Vec<i64>>, ReadError> {
    let size = |of: i64| usize::try_from(of).ok().filter(|size| *size <= MAX_DEVICES);
    let bad = || ReadError::new("groups of devices that do not fit their numbers");
    let width = size(iota.num_devices_per_group).filter(|width| *width > 0).ok_or_else(bad)?;
    let dims: Vec<usize> = iota
        .iota_reshape_dims
        .iter()
        .map(|&dim| size(dim))
        .collect::<Option<_>>()
        .ok_or_else(bad)?;
    let total = dims.iter().try_fold(1_usize, |total, dim| total.checked_mul(*dim));
    let total = total.filter(|total| *total <= MAX_DEVICES).ok_or_else(bad)?;
    let wanted = size(iota.num_replica_groups).and_then(|count| count.checked_mul(width));
    if wanted != Some(total) {
        return Err(bad());
    }
    let mut order: Vec<usize> =
        iota.iota_transpose_perm.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
    if order.is_empty() {
        order = (0..dims.len()).collect();
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..dims.len()) {
        return Err(bad());
    }
    let mut strides = vec![1_usize; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    let device = |mut place: usize| {
        let mut device = 0;
        for &axis in order.iter().rev() {
            device += place % dims[axis] * strides[axis];
            place /= dims[axis];
        }
        i64::try_from(device).unwrap_or(0)
    };
    let devices: Vec<i64> = (0..total).map(device).collect();
    Ok(devices.chunks(width).map(<[i64]>::to_vec).collect())
}

/// Groups as rows; shorter ones end with -1.
fn group_rows(groups: &[Vec<i64>]) -> Attribute {
    let width = groups.iter().map(Vec::len).max().unwrap_or(0);
    let padded: Vec<Vec<i64>> = groups
        .iter()
        .map(|group| group.iter().copied().chain(std::iter::repeat(-1)).take(width).collect())
        .collect();
    rows(&padded, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_proto::xla::axis_ref_proto::SubAxis;
    use tpu_proto::xla::mesh_proto::{IotaTransform, MeshAxis};
    use tpu_proto::xla::{AxisRefProto, CollectiveDeviceListProto, ReplicaGroup};

    #[test]
    fn groups_are_rows_of_a_transposed_count() {
        let mut iota = IotaReplicaGroupListProto {
            num_replica_groups: 2,
            num_devices_per_group: 2,
            iota_reshape_dims: vec![2, 2],
            iota_transpose_perm: vec![1, 0],
        };
        assert_eq!(iota_groups(&iota).unwrap(), [[0, 2], [1, 3]]);
        let one = HloInstructionProto {
            iota_collective_device_list: Some(iota.clone()),
            ..HloInstructionProto::default()
        };
        let rows = vec![vec![0, 2], vec![1, 3]];
        assert_eq!(groups(&one).unwrap(), Groups::Listed(rows));
        iota.iota_transpose_perm.clear();
        assert_eq!(iota_groups(&iota).unwrap(), [[0, 1], [2, 3]]);
        iota.num_replica_groups = i64::MAX;
        assert!(iota_groups(&iota).is_err());
    }

    fn along(index: i64) -> MeshAxesReplicaGroupListProto {
        let axis = |name: &str, size| MeshAxis { name: name.to_owned(), size };
        let order = IotaTransform { reshape_dims: vec![4, 2], transpose_perm: vec![1, 0] };
        let mesh = MeshProto {
            axes: vec![axis("a", 2), axis("b", 4)],
            device_ids: Vec::new(),
            iota_transform: Some(order),
        };
        let part = AxisRefProto {
            mesh_axis_index: index,
            sub_axis_info: Some(SubAxis { pre_size: 2, size: 2 }),
        };
        MeshAxesReplicaGroupListProto { mesh: Some(mesh), axes: vec![part] }
    }

    #[test]
    fn axes_of_a_mesh_are_kept_by_their_names() {
        let mut one = HloInstructionProto {
            mesh_axes_replica_group_list: Some(along(1)),
            ..HloInstructionProto::default()
        };
        let found = groups(&one).unwrap();
        assert_eq!(found.size(), Some(2));
        let Groups::Along(axes) = found else { panic!("no axes") };
        assert_eq!(axes.axes, [AxisRef { name: "b".into(), part: Some((2, 2)) }]);
        let MeshRef::Inline(mesh) = axes.mesh else { panic!("no mesh") };
        assert_eq!(mesh.axes, [("a".into(), 2), ("b".into(), 4)]);
        assert_eq!(mesh.device_ids, [0, 2, 4, 6, 1, 3, 5, 7]);
        one.mesh_axes_replica_group_list = Some(along(2));
        assert_eq!(groups(&one).unwrap_err().to_string(), "axis 2 of a mesh of 2 axes");
    }

    #[test]
    fn groups_that_are_given_in_two_ways_must_be_the_same() {
        let rows = |ids: &[i64]| vec![ReplicaGroup { replica_ids: ids.to_vec() }];
        let list = |ids: &[i64]| {
            let replica_groups = rows(ids);
            Some(CollectiveDeviceListProto { replica_groups, iota_replica_group_list: None })
        };
        let mut one = HloInstructionProto {
            replica_groups: rows(&[0, 1]),
            collective_device_list: list(&[0, 1]),
            ..HloInstructionProto::default()
        };
        assert_eq!(groups(&one).unwrap(), Groups::Listed(vec![vec![0, 1]]));
        one.collective_device_list = list(&[1, 0]);
        assert!(groups(&one).unwrap_err().to_string().contains("given twice"));
        one.collective_device_list = None;
        one.mesh_axes_replica_group_list = Some(along(0));
        assert!(groups(&one).unwrap_err().to_string().contains("given twice"));
    }
}
